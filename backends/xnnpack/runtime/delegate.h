// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <memory>
#include <vector>

#include <xnnpack.h>

#include <executorch/backends/xnnpack/runtime/constants.h>
#include <executorch/backends/xnnpack/runtime/payload.h>
#include <executorch/backends/xnnpack/runtime/workspace.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/result.h>

namespace executorch::backends::xnnpack {

struct RuntimeDeleter {
  void operator()(xnn_runtime_t runtime) const { xnn_delete_runtime(runtime); }
};

/// One delegated part of a method, ready to run. Used by one thread at a time.
class Delegate final {
 public:
  /// @param payload Its bytes must outlive the delegate.
  /// @param names Data by name; may be null.
  /// @param owner What the delegates that share scratch memory have in common (workspace.h).
  /// @param threads May be null: everything runs on the calling thread.
  static runtime::Result<std::unique_ptr<Delegate>> create(
      const Payload& payload, const ET_RUNTIME_NAMESPACE::NamedDataMap* names, const void* owner,
      std::shared_ptr<pthreadpool> threads);

  /// Runs on the arguments, inputs first; outputs are resized to what the inputs' sizes give.
  /// @retval Error::InvalidArgument An argument of another type, dtype or rank, or more of them;
  /// the log says which.
  runtime::Error run(runtime::Span<runtime::EValue*> args);

 private:
  /// An argument as XNNPACK sees it: sizes from outermost to innermost in memory.
  struct Argument {
    executorch::aten::ScalarType dtype;
    size_t rank;
    size_t dims[XNN_MAX_TENSOR_DIMS];
    /// A copy of an input behind whose end may lie no memory.
    std::vector<uint8_t> copy;
  };

  explicit Delegate(const Payload& payload) : payload_(payload) {}
  runtime::Error add_argument(uint32_t id);
  runtime::Result<const executorch::aten::Tensor*> checked(runtime::Span<runtime::EValue*> args,
                                                           size_t index) const;
  runtime::Error take_input(size_t index, const executorch::aten::Tensor& tensor, bool* resized);
  runtime::Error resize_output(size_t index, const executorch::aten::Tensor& tensor);

  runtime::Error verify_sizes() const;

  Payload payload_;
  // The order matters: the runtime goes first.
  std::shared_ptr<pthreadpool> threads_;
  Constants constants_;
  Workspace workspace_;
  std::unique_ptr<xnn_runtime, RuntimeDeleter> runtime_;
  size_t inputs_ = 0;
  std::vector<Argument> arguments_;
  std::vector<xnn_external_value> values_;
  bool ready_ = false;
};

}  // namespace executorch::backends::xnnpack
