// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <memory>
#include <vector>

#include <executorch/backends/xnnpack/runtime/backend_options.h>
#include <executorch/backends/xnnpack/runtime/delegate_memory.h>
#include <executorch/backends/xnnpack/runtime/execution/executor.h>
#include <executorch/backends/xnnpack/runtime/execution/workspace.h>
#include <executorch/backends/xnnpack/runtime/graph/read_beyond.h>
#include <executorch/backends/xnnpack/runtime/payload/constants.h>
#include <executorch/backends/xnnpack/runtime/payload/payload.h>
#include <executorch/backends/xnnpack/runtime/payload/shape_inference.h>
#include <executorch/backends/xnnpack/runtime/weights/file/packed_file.h>
#include <executorch/backends/xnnpack/runtime/weights/weights_session.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/core/result.h>

namespace executorch::backends::xnnpack {

/// Options of a delegate's creation.
struct DelegateOptions {
  /// Named data; may be null. Not used after creation.
  const ET_RUNTIME_NAMESPACE::NamedDataMap* names = nullptr;
  Settings settings;
  WorkspaceUser workspace_user = {};
  /// Null: everything runs on the calling thread.
  std::shared_ptr<pthreadpool> threads;
  /// Measure the operators' times.
  bool is_profiled = false;
};

/// One delegated part of a method, ready to run. Used by one thread at a time.
class Delegate final {
 public:
  /// @param payload Its bytes must outlive the delegate.
  static runtime::Result<std::unique_ptr<Delegate>> create(const Payload& payload,
                                                           DelegateOptions options);
  ~Delegate();
  Delegate(const Delegate&) = delete;
  Delegate& operator=(const Delegate&) = delete;

  /// Runs on the arguments, inputs first, and resizes the outputs. Waits for other delegates that
  /// use the workspace.
  /// @param tracer Records the operators' times if they are measured; may be null.
  /// @retval Error::InvalidArgument An argument of another type, dtype or rank, or another number
  /// of arguments; the log says which.
  runtime::Error run(runtime::Span<runtime::EValue*> args,
                     ET_RUNTIME_NAMESPACE::EventTracer* tracer);

  /// Visits the operators, with the sizes of the last inputs or, before the first run, the largest.
  void describe(ET_RUNTIME_NAMESPACE::DelegateOperatorVisitor visit) const;

  size_t output_count() const { return arguments_.size() - inputs_; }
  Workspace& workspace() const { return *workspace_; }
  /// Bytes of its packed weights, including shared ones; 0 if XNNPACK owns them.
  size_t packed_size() const { return weights_ == nullptr ? 0 : weights_->packed_size(); }

 private:
  /// An argument as XNNPACK sees it: sizes from outermost to innermost in memory.
  struct Argument {
    executorch::aten::ScalarType dtype;
    size_t rank;
    size_t dims[Shape::kMaxRank];
    /// Replaces the memory of an input or output after whose end memory may be unmapped.
    DelegateBlock copy;
  };

  explicit Delegate(const Payload& payload) : payload_(payload) {}
  runtime::Error create_executor(const DelegateOptions& options);
  /// Plans for the sizes in the payload, which are the largest ones.
  runtime::Error reshape_to_declared();
  runtime::Error reshape();
  runtime::Error add_argument(const fb_xnnpack::TensorValue& tensor);
  runtime::Result<const executorch::aten::Tensor*> checked(runtime::Span<runtime::EValue*> args,
                                                           size_t index) const;
  runtime::Error take_input(size_t index, const executorch::aten::Tensor& tensor);
  runtime::Error resize_output(size_t index, const executorch::aten::Tensor& tensor);
  /// The memory that the executor writes for an output: its own, or, if kernels would read beyond
  /// its end, a copy's.
  /// @retval Error::MemoryAllocationFailed
  runtime::Result<void*> memory_for(size_t index, const executorch::aten::Tensor& output);
  /// Memory for a copy of an argument, and for the bytes after it that kernels may read.
  /// @retval Error::MemoryAllocationFailed The memory of all delegates does not suffice.
  runtime::Result<void*> copy_memory(size_t index, size_t bytes);
  std::vector<Shape> input_shapes() const;

  Payload payload_;
  // The order matters: the executor is destroyed first.
  std::shared_ptr<pthreadpool> threads_;
  Constants constants_;
  std::shared_ptr<Workspace> workspace_;
  /// Limit of the working memory of all delegates.
  size_t limit_of_all_ = SIZE_MAX;
  std::unique_ptr<WeightsSession> weights_;
  /// Saved once all delegates of the method are created: at the first run, or at destruction.
  std::shared_ptr<PackedFile> unsaved_;
  bool is_profiled_ = false;
  std::unique_ptr<Executor> executor_;
  size_t inputs_ = 0;
  std::vector<Argument> arguments_;
  std::vector<void*> data_;
  /// True if the memory is planned for the current sizes of inputs.
  bool planned_ = false;
};

}  // namespace executorch::backends::xnnpack
