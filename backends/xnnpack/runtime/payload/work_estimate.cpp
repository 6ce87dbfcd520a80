// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/payload/work_estimate.h>

#include <executorch/runtime/executor/plan/optional_vector.h>

namespace executorch::backends::xnnpack {

namespace fb = fb_xnnpack;
using runtime::internal::count;

namespace {

// Multiplications, or elements moved, of a node that takes a thread a few microseconds.
constexpr double kMinNodeWork = 50e3;

double elements(const fb::TensorValue& tensor) {
  double product = 1;
  for (size_t d = 0; d < count(tensor.dims()); ++d) {
    product *= tensor.dims()->Get(static_cast<uint32_t>(d));
  }
  return product;
}

}  // namespace

bool benefits_from_threads(const Payload& payload) {
  const size_t nodes = count(payload.graph->xnodes());
  // Work of a node: each weight is used once for each position of the result. A node without
  // weights writes each element once.
  double positions = 1;
  double weights = 0;
  double written = 0;
  for (uint32_t i = 0; i < count(payload.graph->xvalues()); ++i) {
    const fb::TensorValue& tensor = tensor_of(*payload.graph->xvalues()->Get(i));
    if (tensor.constant_buffer_idx() != 0) {
      weights += elements(tensor);
      continue;
    }
    written += elements(tensor);
    const size_t rank = count(tensor.dims());
    const double channels = rank == 0 ? 1 : tensor.dims()->Get(static_cast<uint32_t>(rank - 1));
    positions += channels == 0 ? 0 : elements(tensor) / channels;
  }
  const double values = static_cast<double>(count(payload.graph->xvalues())) + 1;
  return written + weights * (positions / values) > kMinNodeWork * static_cast<double>(nodes);
}

}  // namespace executorch::backends::xnnpack
