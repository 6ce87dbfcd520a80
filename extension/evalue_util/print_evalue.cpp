// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/evalue_util/print_evalue.h>

#include <algorithm>
#include <sstream>
#include <string>

#include <executorch/extension/tensor/element_conversion.h>
#include <executorch/runtime/core/exec_aten/util/dtype_info.h>

namespace executorch::extension {
namespace {

using ET_RUNTIME_NAMESPACE::EValue;
using executorch::aten::Tensor;

constexpr size_t kDefaultEdgeItems = 3;
constexpr size_t kItemsPerLine = 10;

/// Slot of a stream for its number of edge items; 0 means the default.
int edge_items_slot() {
  static const int slot = std::ios_base::xalloc();
  return slot;
}

size_t edge_items_of(std::ostream& stream) {
  const long count = stream.iword(edge_items_slot());
  return count > 0 ? static_cast<size_t>(count) : kDefaultEdgeItems;
}

/// Python's words and torch's numbers: True, 2, 2., 2.5.
template <typename T>
void print_number(std::ostream& stream, T value) {
  if constexpr (std::is_same_v<T, bool>) {
    stream << (value ? "True" : "False");
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    stream << value;
  } else if constexpr (std::is_integral_v<T>) {
    stream << static_cast<int64_t>(value);  // an int8_t would be a letter
  } else {
    std::ostringstream digits;
    digits.flags(stream.flags());
    digits.precision(stream.precision());
    digits << convert_number<double>(value);
    const std::string text = digits.str();
    stream << text << (text.find_first_not_of("-0123456789") == std::string::npos ? "." : "");
  }
}

/// Prints items [begin, end), kItemsPerLine a line, the first `on_first_line` on the first line.
template <typename PrintItem>
void print_lines(std::ostream& stream, size_t begin, size_t end, size_t on_first_line,
                 PrintItem&& print_item) {
  size_t left = on_first_line;
  for (size_t i = begin; i < end; ++i) {
    stream << (i == begin || left == kItemsPerLine ? "  " : "");
    print_item(i);
    stream << ", ";
    --left;
    if (left == 0 || i + 1 == end) {
      stream << '\n';
      left = kItemsPerLine;
    }
  }
}

/// "[a, b, ..., y, z]": the first and the last `edge_items` of `count`. More than kItemsPerLine are
/// spread over lines.
template <typename PrintItem>
void print_items(std::ostream& stream, size_t count, size_t edge_items, PrintItem&& print_item) {
  const bool is_elided = edge_items < count - count / 2;
  const size_t head = is_elided ? edge_items : count;
  const size_t tail = is_elided ? edge_items : 0;
  stream << '[';
  if (head + tail > kItemsPerLine) {
    stream << '\n';
    print_lines(stream, 0, head, kItemsPerLine, print_item);
    if (is_elided) {
      stream << "  ...,\n";
      const size_t ragged = tail % kItemsPerLine;
      print_lines(stream, count - tail, count, ragged == 0 ? kItemsPerLine : ragged, print_item);
    }
  } else {
    for (size_t i = 0; i < head; ++i) {
      stream << (i == 0 ? "" : ", ");
      print_item(i);
    }
    stream << (is_elided ? ", ..." : "");
    for (size_t i = count - tail; i < count; ++i) {
      stream << ", ";
      print_item(i);
    }
  }
  stream << ']';
}

template <typename Items>
void print_list(std::ostream& stream, const Items& items) {
  stream << "(len=" << items.size() << ')';
  print_items(stream, items.size(), edge_items_of(stream),
              [&](size_t i) { print_number(stream, items[i]); });
}

void print_data(std::ostream& stream, const Tensor& tensor) {
  if (tensor.const_data_ptr() == nullptr && tensor.numel() > 0) {
    stream << "<no data>";
    return;
  }
  const bool is_number = visit_number_type(tensor.scalar_type(), [&](auto element) {
    using T = typename decltype(element)::type;
    const T* data = static_cast<const T*>(tensor.const_data_ptr());
    print_items(stream, static_cast<size_t>(tensor.numel()), edge_items_of(stream),
                [&](size_t i) { print_number(stream, number_at(data, i)); });
  });
  if (!is_number) {
    stream << "<elements of dtype " << runtime::toString(tensor.scalar_type()) << '>';
  }
}

void print_tensor(std::ostream& stream, const Tensor& tensor) {
  const auto rank = static_cast<size_t>(tensor.dim());
  stream << "tensor(sizes=";
  print_items(stream, rank, rank, [&](size_t i) { stream << tensor.sizes()[i]; });
  stream << ", ";
  print_data(stream, tensor);
  stream << ')';
}

void print_tensor(std::ostream& stream, const std::optional<Tensor>& tensor) {
  if (tensor.has_value()) {
    print_tensor(stream, *tensor);
  } else {
    stream << "None";
  }
}

/// Prints all tensors of a list. If there are several, each is on a separate line.
template <typename Tensors>
void print_tensors(std::ostream& stream, const Tensors& tensors) {
  const size_t count = tensors.size();
  stream << "(len=" << count << ")[" << (count > 1 ? "\n" : "");
  for (size_t i = 0; i < count; ++i) {
    if (count > 1) {
      stream << "  [" << i << "]: ";
    }
    print_tensor(stream, tensors[i]);
    stream << (count > 1 ? ",\n" : "");
  }
  stream << ']';
}

/// A list whose items may be of another kind than the list.
template <typename T, typename Print>
void print_checked(std::ostream& stream, const runtime::Result<T>& list, Print&& print) {
  if (list.ok()) {
    print(*list);
  } else {
    stream << '<' << runtime::to_string(list.error()) << '>';
  }
}

void print_string(std::ostream& stream, std::string_view text) {
  stream << '"';
  for (const char c : text) {
    stream << (c == '"' || c == '\\' ? "\\" : "") << c;
  }
  stream << '"';
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, const evalue_edge_items& items) {
  stream.iword(edge_items_slot()) = std::max(items.count_, 0L);
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
      print_number(stream, value.toInt());
      break;
    case Tag::Double:
      print_number(stream, value.toDouble());
      break;
    case Tag::Bool:
      print_number(stream, value.toBool());
      break;
    case Tag::String:
      print_string(stream, value.toString());
      break;
    case Tag::ListInt:
      print_checked(stream, value.tryToIntList(), [&](auto list) { print_list(stream, list); });
      break;
    case Tag::ListDouble:
      print_list(stream, value.toDoubleList());
      break;
    case Tag::ListBool:
      print_list(stream, value.toBoolList());
      break;
    case Tag::ListTensor:
      print_checked(stream, value.tryToTensorList(),
                    [&](auto list) { print_tensors(stream, list); });
      break;
    case Tag::ListOptionalTensor:
      print_checked(stream, value.tryToListOptionalTensor(),
                    [&](auto list) { print_tensors(stream, list); });
      break;
    default:
      stream << "<Unknown EValue tag " << static_cast<int64_t>(value.tag) << ">";
  }
  return stream;
}

}  // namespace executorch::ET_RUNTIME_NAMESPACE
