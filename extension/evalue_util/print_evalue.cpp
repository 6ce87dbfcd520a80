// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/evalue_util/print_evalue.h>

#include <executorch/extension/tensor/element_conversion.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

namespace executorch::extension {
namespace {

// Where a stream keeps its number of edge items.
int edge_items_slot() {
  static const int slot = std::ios_base::xalloc();
  return slot;
}

using ET_RUNTIME_NAMESPACE::EValue;
using executorch::aten::Tensor;

/// The type to print a T as: an int8 is a number here, not a letter.
template <typename T>
using Printed =
    std::conditional_t<!std::is_integral_v<T>, double,
                       std::conditional_t<std::is_same_v<T, uint64_t>, uint64_t, int64_t>>;

/// "[a, b, ..., y, z]": calls `print_item(i)` for the items that the stream shows.
template <typename PrintItem>
void print_items(std::ostream& stream, size_t count, PrintItem&& print_item) {
  const auto edge = static_cast<size_t>(stream.iword(edge_items_slot()));
  const bool is_long = edge > 0 && edge < count - count / 2;
  stream << '[';
  for (size_t i = 0; i < count; ++i) {
    stream << (i == 0 ? "" : ", ");
    if (is_long && i == edge) {
      stream << "..., ";
      i = count - edge;
    }
    print_item(i);
  }
  stream << ']';
}

template <typename T, typename Items>
void print_numbers(std::ostream& stream, const Items& items, size_t count) {
  print_items(stream, count,
              [&](size_t i) { stream << convert_number<Printed<T>>(static_cast<T>(items[i])); });
}

void print_tensor(std::ostream& stream, const Tensor& tensor) {
  stream << runtime::toString(tensor.scalar_type()) << " [";
  for (ssize_t i = 0; i < tensor.dim(); ++i) {
    stream << (i == 0 ? "" : ", ") << tensor.size(i);
  }
  stream << "] ";
  const bool is_number = visit_number_type(tensor.scalar_type(), [&](auto element) {
    using T = typename decltype(element)::type;
    print_numbers<T>(stream, static_cast<const T*>(tensor.const_data_ptr()),
                     static_cast<size_t>(tensor.numel()));
  });
  stream << (is_number ? "" : "(values that cannot be printed)");
}

template <typename Tensors>
void print_optional_tensors(std::ostream& stream, const Tensors& tensors) {
  print_items(stream, tensors.size(), [&](size_t i) {
    if (tensors[i].has_value()) {
      print_tensor(stream, *tensors[i]);
    } else {
      stream << "None";
    }
  });
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, const evalue_edge_items& items) {
  stream.iword(edge_items_slot()) = items.count_ < 1 ? 0 : items.count_;
  return stream;
}

}  // namespace executorch::extension

namespace executorch::ET_RUNTIME_NAMESPACE {

std::ostream& operator<<(std::ostream& stream, const EValue& value) {
  using namespace executorch::extension;  // NOLINT: the printers above
  using runtime::Tag;
  switch (value.tag) {
    case Tag::None:
      stream << "None";
      break;
    case Tag::Tensor:
      print_tensor(stream, value.toTensor());
      break;
    case Tag::Int:
      stream << value.toInt();
      break;
    case Tag::Double:
      stream << value.toDouble();
      break;
    case Tag::Bool:
      stream << (value.toBool() ? "true" : "false");
      break;
    case Tag::String:
      stream << '\'' << value.toString() << '\'';
      break;
    case Tag::ListInt:
      print_numbers<int64_t>(stream, value.toIntList(), value.toIntList().size());
      break;
    case Tag::ListDouble:
      print_numbers<double>(stream, value.toDoubleList(), value.toDoubleList().size());
      break;
    case Tag::ListBool:
      print_numbers<bool>(stream, value.toBoolList(), value.toBoolList().size());
      break;
    case Tag::ListTensor:
      print_items(stream, value.toTensorList().size(),
                  [&](size_t i) { print_tensor(stream, value.toTensorList()[i]); });
      break;
    case Tag::ListOptionalTensor:
      print_optional_tensors(stream, value.toListOptionalTensor());
      break;
    default:
      stream << "(a value of tag " << static_cast<unsigned>(value.tag) << ")";
  }
  return stream;
}

}  // namespace executorch::ET_RUNTIME_NAMESPACE
