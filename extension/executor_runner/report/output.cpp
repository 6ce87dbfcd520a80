// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/executor_runner/report/output.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <sstream>
#include <vector>

#include <executorch/extension/evalue_util/print_evalue.h>
#include <executorch/extension/executor_runner/report/failure.h>
#include <executorch/extension/executor_runner/report/listing.h>

namespace executorch::extension::executor_runner {
namespace {

using executorch::aten::Tensor;
using runtime::EValue;

/// How many of an output's first and last values are shown.
long edge_values(PrintOutput what) {
  switch (what) {
    case PrintOutput::All:
      return LONG_MAX;
    case PrintOutput::Summary:
      return 100;
    default:
      return 5;
  }
}

std::string value_text(const EValue& value, PrintOutput what) {
  if (what == PrintOutput::Shape && value.isTensor()) {
    const Tensor& tensor = value.toTensor();
    const std::vector<int32_t> sizes(tensor.sizes().begin(), tensor.sizes().end());
    return tensor_text(tensor.scalar_type(), {sizes.data(), sizes.size()});
  }
  std::ostringstream text;
  text << evalue_edge_items(edge_values(what)) << value;
  return text.str();
}

}  // namespace

void print_outputs(const runtime::Method& method, PrintOutput what) {
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    printf("output %zu: %s\n", i, value_text(method.get_output(i), what).c_str());
  }
}

void write_outputs(const runtime::Method& method, const std::string& prefix) {
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    if (!method.get_output(i).isTensor()) {
      continue;
    }
    const Tensor& tensor = method.get_output(i).toTensor();
    if (tensor.const_data_ptr() == nullptr && tensor.nbytes() > 0) {
      fail("output " + std::to_string(i) + " lacks memory: the program did not compute it");
    }
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
