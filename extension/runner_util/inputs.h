// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Inputs for a method: given bytes, or ones.
#pragma once

#include <stddef.h>

#include <memory>
#include <utility>
#include <vector>

#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/executor/method.h>

namespace executorch::extension {

/// Owns the memory of inputs; must outlive the executions that use them.
class BufferCleanup final {
 public:
  explicit BufferCleanup(std::vector<std::unique_ptr<void, void (*)(void*)>> buffers)
      : buffers_(std::move(buffers)) {}
  /// Takes `buffers.data()` and each buffer, all from malloc().
  explicit BufferCleanup(runtime::Span<void*> buffers);

 private:
  std::vector<std::unique_ptr<void, void (*)(void*)>> buffers_;
};

/// Limits for untrusted files.
struct PrepareInputTensorsOptions {
  /// Bytes of all input tensors together.
  size_t max_total_allocation_size = size_t{1} << 30;
  size_t max_inputs = 1024;
};

/// Sets every tensor input to the bytes of `input_buffers[i]`, where i counts the tensor inputs, or
/// to ones if `input_buffers` is empty. Other inputs keep the program's values.
/// @retval Error::InvalidArgument The number of buffers differs from that of tensor inputs, a
///     buffer's size differs from its tensor's (for dynamic sizes, the upper bound), or a limit of
///     `options` is exceeded.
/// @retval Error::MemoryAllocationFailed Memory is exhausted. Other errors are those of
///     Method::set_input().
runtime::Result<BufferCleanup> prepare_input_tensors(
    runtime::Method& method, PrepareInputTensorsOptions options = {},
    const std::vector<std::pair<char*, size_t>>& input_buffers = {});

}  // namespace executorch::extension

// Documented names of the same things.
namespace torch::executor::util {
using ::executorch::extension::BufferCleanup;
using ::executorch::extension::prepare_input_tensors;
using ::executorch::extension::PrepareInputTensorsOptions;
}  // namespace torch::executor::util
