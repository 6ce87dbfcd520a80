// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Runs the operators of a payload's graph in order. Changed sizes of inputs cause a new memory
// plan.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <executorch/backends/xnnpack/runtime/delegate_memory.h>
#include <executorch/backends/xnnpack/runtime/execution/empty_operands.h>
#include <executorch/backends/xnnpack/runtime/execution/workspace.h>
#include <executorch/backends/xnnpack/runtime/graph/graph.h>
#include <executorch/backends/xnnpack/runtime/operators/library.h>
#include <executorch/backends/xnnpack/runtime/operators/operator.h>
#include <executorch/backends/xnnpack/runtime/payload/constants.h>
#include <executorch/backends/xnnpack/runtime/payload/payload.h>
#include <executorch/backends/xnnpack/runtime/weights/weights_session.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/event_tracer.h>

namespace executorch::backends::xnnpack {

struct ExecutorOptions {
  /// Null: the operators own packed weights.
  WeightsSession* weights = nullptr;
  /// Null: everything runs on the calling thread.
  pthreadpool_t threads = nullptr;
  /// Measure the operators' times.
  bool is_profiled = false;
  /// The precision to which products of float32 values may round their factors.
  kernels::engine::Precision precision = kernels::engine::Precision::Float32;
  /// Limit of the workspace, and of the library's memory for each executor, in bytes; 0: no limit,
  /// also for that of all delegates together.
  size_t max_workspace_bytes = 0;
};

class Executor final {
 public:
  static runtime::Result<std::unique_ptr<Executor>> create(const Payload& payload,
                                                           const Constants& constants,
                                                           const ExecutorOptions& options);

  /// Prepares for inputs of these shapes, which infer_shapes() must have accepted and which may be
  /// empty. The caller holds the workspace's lock, also for the functions below.
  /// @retval Error::NotSupported A node would compute elements from an empty operand.
  runtime::Error reshape(runtime::Span<const Shape> inputs, Workspace* workspace);
  /// The shape of an argument after the last reshape().
  runtime::Result<Shape> shape_of(size_t argument) const {
    return shapes_[graph_.arguments[argument]];
  }
  /// True if an operator reads the argument: every input, and outputs that later nodes use.
  bool reads(size_t argument) const { return reads_[argument]; }
  /// @param arguments The memory of the arguments, inputs first.
  runtime::Error run(runtime::Span<void* const> arguments, Workspace* workspace);

  /// Visits the operators in the order in which they run, with the shapes of the last reshape().
  void describe(ET_RUNTIME_NAMESPACE::DelegateOperatorVisitor visit) const;

  /// Reports how long each operator took in the last run.
  runtime::Error report(ET_RUNTIME_NAMESPACE::EventTracer& tracer) const;

 private:
  struct Step {
    Node node;
    std::unique_ptr<Operator> op;
    Tensors tensors;
    size_t scratch_block = 0;
    /// Set while the results are empty: run() skips the step.
    bool is_idle = false;
    /// Set while the step reduces operands without elements.
    std::unique_ptr<NeutralOperands> neutral;
  };

  explicit Executor(const Payload& payload) : payload_(payload) {}
  runtime::Error create_steps(const ExecutorOptions& options);
  /// Reshapes the operators, whose tensors have their shapes.
  runtime::Error reshape_steps();
  /// Sets the shapes of a step's tensors to those of its values.
  void refer_to_values(Step* step);
  void find_read_arguments();
  /// Frees converted constants that exist in packed form.
  void free_packed_constants();
  void plan();
  /// True if the step's first result may overwrite the value `root` although several operands, such
  /// as a tensor and its reshape, may read it.
  bool may_overwrite(const Step& step, uint32_t root) const;
  runtime::Error bind(runtime::Span<void* const> arguments, char* memory);
  void label_steps();

  Payload payload_;
  Graph graph_;
  std::vector<Step> steps_;
  /// Maps each value to the value whose memory it shares.
  std::vector<uint32_t> roots_;
  /// By argument.
  std::vector<bool> reads_;
  std::vector<Shape> shapes_;
  /// Maps each root value to its block of the plan; kNoBlock for constants and arguments.
  std::vector<size_t> blocks_;
  std::vector<uint64_t> offsets_;
  uint64_t workspace_bytes_ = 0;
  /// Limits of the executor's and of all delegates' intermediate results.
  size_t max_workspace_bytes_ = SIZE_MAX, limit_of_all_ = SIZE_MAX;
  /// Memory that operators of the library took when they were created, and when they were reshaped.
  extension::TakenBytes created_bytes_{delegate_bytes()}, reshaped_bytes_{delegate_bytes()};

  // The memory that operators are bound to.
  const void* bound_memory_ = nullptr;
  std::vector<void*> bound_arguments_;

  bool is_profiled_ = false;
  std::vector<std::string> labels_;
  /// When each step began, and the end.
  std::vector<et_timestamp_t> times_;
};

}  // namespace executorch::backends::xnnpack
