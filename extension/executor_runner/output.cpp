// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/executor_runner/output.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>

#include <executorch/extension/executor_runner/failure.h>
#include <executorch/extension/executor_runner/listing.h>
#include <executorch/extension/tensor/element_conversion.h>

namespace executorch::extension::executor_runner {
namespace {

using executorch::aten::Tensor;
using runtime::EValue;

void print_number(double value) { printf("%g", value); }
void print_number(int64_t value) { printf("%" PRId64, value); }
void print_number(uint64_t value) { printf("%" PRIu64, value); }

/// The type to print a T as.
template <typename T>
using Printed =
    std::conditional_t<!std::is_integral_v<T>, double,
                       std::conditional_t<std::is_same_v<T, uint64_t>, uint64_t, int64_t>>;

/// How many values of an output are its first ones.
constexpr size_t kFirstValues = 10;

template <typename T, typename Items>
void print_items(const Items& items, size_t count, PrintOutput what) {
  const size_t printed = what == PrintOutput::First ? std::min(count, kFirstValues) : count;
  printf(" [");
  for (size_t i = 0; i < printed; ++i) {
    printf("%s", i == 0 ? "" : ", ");
    print_number(convert_number<Printed<T>>(static_cast<T>(items[i])));
  }
  printf("%s]", printed < count ? ", ..." : "");
}

void print_tensor(const Tensor& tensor, PrintOutput what) {
  printf("%s",
         tensor_text(tensor.scalar_type(), {tensor.sizes().data(), tensor.sizes().size()}).c_str());
  if (what != PrintOutput::Shape) {
    const bool is_number = visit_number_type(tensor.scalar_type(), [&](auto element) {
      using T = typename decltype(element)::type;
      print_items<T>(static_cast<const T*>(tensor.const_data_ptr()),
                     static_cast<size_t>(tensor.numel()), what);
    });
    printf("%s", is_number ? "" : " (values that cannot be printed)");
  }
}

void print_value(const EValue& value, PrintOutput what) {
  if (value.isTensor()) {
    print_tensor(value.toTensor(), what);
  } else if (value.isInt()) {
    print_number(value.toInt());
  } else if (value.isDouble()) {
    print_number(value.toDouble());
  } else if (value.isBool()) {
    printf("%s", value.toBool() ? "true" : "false");
  } else if (value.isString()) {
    printf("'%.*s'", static_cast<int>(value.toString().size()), value.toString().data());
  } else if (value.isIntList()) {
    print_items<int64_t>(value.toIntList(), value.toIntList().size(), what);
  } else if (value.isDoubleList()) {
    print_items<double>(value.toDoubleList(), value.toDoubleList().size(), what);
  } else if (value.isTensorList()) {
    for (const Tensor& item : value.toTensorList()) {
      printf("\n    ");
      print_tensor(item, what);
    }
  } else {
    char name[runtime::kTagNameBufferSize];
    runtime::tag_to_string(value.tag, name, sizeof(name));
    printf("%s", name);
  }
}

}  // namespace

void print_outputs(const runtime::Method& method, PrintOutput what) {
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    printf("output %zu: ", i);
    print_value(method.get_output(i), what);
    printf("\n");
  }
}

void write_outputs(const runtime::Method& method, const std::string& prefix) {
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    if (!method.get_output(i).isTensor()) {
      continue;
    }
    const Tensor& tensor = method.get_output(i).toTensor();
    const std::string path = prefix + "-" + std::to_string(i) + ".bin";
    FILE* file = fopen(path.c_str(), "wb");
    if (file == nullptr) {
      fail("cannot write '" + path + "': " + strerror(errno));
    }
    const size_t written = fwrite(tensor.const_data_ptr(), 1, tensor.nbytes(), file);
    if (fclose(file) != 0 || written != tensor.nbytes()) {
      fail("cannot write '" + path + "': " + strerror(errno));
    }
  }
}

}  // namespace executorch::extension::executor_runner
