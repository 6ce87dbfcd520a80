// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/execution/executor.h>

#include <inttypes.h>

#include <algorithm>
#include <map>

#include <executorch/backends/xnnpack/runtime/execution/operator_text.h>
#include <executorch/backends/xnnpack/runtime/graph/memory_plan.h>
#include <executorch/backends/xnnpack/runtime/graph/passes.h>
#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/backends/xnnpack/runtime/operators/library.h>
#include <executorch/backends/xnnpack/runtime/operators/operator_table.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/platform.h>

namespace executorch::backends::xnnpack {

using runtime::Error;
using runtime::Result;
using runtime::Span;

namespace {

constexpr size_t kNoBlock = SIZE_MAX;

/// Bytes of a value, with the bytes after it that kernels may read.
size_t memory_of(const Value& value, const Shape& shape) {
  if (value.datatype == Datatype::QDInt8) {
    return row_parameter_offset(value, shape) +
           (row_count(value, shape) + kExtraRowParameters) * sizeof(RowQuantization);
  }
  return bytes_of(value.datatype, shape) + kReadBeyond;
}

template <typename Visit>
void visit_tensors(Tensors* tensors, const Node& node, const Visit& visit) {
  for (size_t i = 0; i < node.operand_count; ++i) {
    visit(&tensors->operands[i], node.operands[i]);
  }
  for (size_t i = 0; i < node.result_count; ++i) {
    visit(&tensors->results[i], node.results[i]);
  }
  visit(&tensors->residual, node.residual);
}

enum class Work : uint8_t {
  None,
  Normal,
  /// Operands are empty, and the operator computes the result from neutral elements instead.
  OnNeutralElements,
};

/// Returns the work of a step with these sizes. Fails if an operand is empty, a result is not, and
/// the operator cannot compute that.
Result<Work> work_of(Tensors tensors, const Node& node, const Operator& op) {
  bool has_elements = false, has_empty = false;
  visit_tensors(&tensors, node, [&](const TensorRef* tensor, uint32_t) {
    has_empty = has_empty || (*tensor && is_empty(*tensor->shape));
  });
  for (size_t i = 0; i < node.result_count; ++i) {
    has_elements = has_elements || !is_empty(*tensors.results[i].shape);
  }
  if (!has_elements) {
    return Work::None;
  }
  if (!has_empty || op.takes_empty_operands()) {
    return Work::Normal;
  }
  ET_CHECK_OR_RETURN_ERROR(NeutralOperands::suit(node, tensors), NotSupported,
                           "xnnpack: node %s has a result with elements although an operand is "
                           "empty: export with sizes of at least 1, or do not delegate it",
                           fb_xnnpack::EnumNameXNodeUnion(node.kind));
  return Work::OnNeutralElements;
}

}  // namespace

Result<std::unique_ptr<Executor>> Executor::create(const Payload& payload,
                                                   const Constants& constants,
                                                   const ExecutorOptions& options) {
  std::unique_ptr<Executor> executor(new Executor(payload));
  Graph& graph = executor->graph_;
  graph = ET_UNWRAP(Graph::read(payload, constants));
  const OperatorContext context{graph, nullptr, nullptr};
  if (!has_library()) {
    ET_CHECK_OK_OR_RETURN_ERROR(widen_quantized(
        &graph, [&](const Node& node) { return is_engine_quantized(node, context); }));
  }
  if (options.precision != kernels::engine::Precision::Float32) {
    permit_precision(&graph, options.precision);
  }
  ET_CHECK_OK_OR_RETURN_ERROR(widen_halves(&graph));
  fuse_silu(&graph);
  fuse_norms(&graph);
  fuse_rotary(&graph);
  fuse_attention(&graph, takes_attention);
  sink_conversions(&graph);
  fuse_lookups(&graph);
  separate_clamps(&graph);
  fuse_clamps(&graph);
  fuse_paddings(&graph);
  fuse_planes(&graph);
  fuse_epilogues(&graph, [&](const Node& node) { return has_epilogue(node, context); });
  fuse_silu_products(&graph);
  fuse_roundings(
      &graph, [&](const Node& node) { return can_write_pairs(node, context); },
      [&](const Node& node) { return can_read_pairs(node, context); });
  executor->roots_ = alias_values(&graph);
  ET_CHECK_OK_OR_RETURN_ERROR(executor->create_steps(options));
  executor->find_read_arguments();
  executor->free_packed_constants();
  executor->label_steps();
  executor->is_profiled_ = options.is_profiled;
  if (options.max_workspace_bytes != 0) {
    executor->max_workspace_bytes_ = options.max_workspace_bytes;
  }
  executor->limit_of_all_ = working_limit(options.max_workspace_bytes);
  return executor;
}

Error Executor::create_steps(const ExecutorOptions& options) {
  const OperatorContext context{graph_, options.weights, options.threads};
  // Without a session, the library packs weights into memory of its own.
  LibraryMemory memory(&created_bytes_, SIZE_MAX, max_delegate_bytes());
  for (const Node& node : graph_.nodes) {
    Step step;
    step.node = node;
    OperatorResult op = create_operator(node, context);
    ET_CHECK_OR_RETURN_ERROR(
        !memory.is_exceeded(), MemoryAllocationFailed,
        "xnnpack: no memory for the weights of node %s; all delegates have %zu bytes, expected at "
        "most %zu",
        fb_xnnpack::EnumNameXNodeUnion(node.kind), delegate_bytes().taken(), max_delegate_bytes());
    step.op = ET_UNWRAP(std::move(op));
    steps_.push_back(std::move(step));
  }
  shapes_.resize(graph_.values.size());
  for (Step& step : steps_) {
    refer_to_values(&step);
  }
  return Error::Ok;
}

void Executor::refer_to_values(Step* step) {
  visit_tensors(&step->tensors, step->node, [&](TensorRef* tensor, uint32_t id) {
    *tensor = tensor_ref(graph_, id);
    if (*tensor) {
      tensor->shape = &shapes_[id];
    }
  });
  step->tensors.unfused = tensor_ref(graph_, step->node.unfused);
  if (step->tensors.unfused) {
    step->tensors.unfused.shape = &shapes_[step->node.unfused];
  }
}

void Executor::find_read_arguments() {
  reads_.assign(graph_.arguments.size(), false);
  const auto mark = [&](uint32_t id) {
    const uint32_t argument = id == kNoValue ? kNoValue : graph_.values[roots_[id]].argument;
    if (argument != kNoValue) {
      reads_[argument] = true;
    }
  };
  for (const Node& node : graph_.nodes) {
    std::for_each(node.operands, node.operands + node.operand_count, mark);
    mark(node.residual);
  }
}

void Executor::free_packed_constants() {
  const OperatorContext context{graph_, nullptr, nullptr};
  std::vector<bool> is_read(graph_.values.size());
  for (const Node& node : graph_.nodes) {
    for (size_t i = 0; i < node.operand_count; ++i) {
      if (node.operands[i] != kNoValue && (i == 0 || !packs_weights(node, context))) {
        is_read[roots_[node.operands[i]]] = true;
      }
    }
    if (node.residual != kNoValue) {
      is_read[roots_[node.residual]] = true;
    }
  }
  for (auto& [id, data] : graph_.converted) {
    if (!is_read[roots_[id]]) {
      data = DelegateBlock();
    }
  }
}

Error Executor::reshape(Span<const Shape> inputs, Workspace* workspace) {
  bound_memory_ = nullptr;
  bound_arguments_.clear();
  const std::vector<Shape> known =
      ET_UNWRAP(infer_all_shapes(payload_, inputs, Emptiness::Allowed));
  for (size_t id = 0; id < shapes_.size(); ++id) {
    shapes_[id] = known[graph_.values[id].shape_source];
  }
  ET_CHECK_OK_OR_RETURN_ERROR(reshape_steps());
  plan();
  ET_CHECK_OR_RETURN_ERROR(
      workspace_bytes_ <= SIZE_MAX / 2 && workspace_bytes_ <= max_workspace_bytes_,
      MemoryAllocationFailed,
      "xnnpack: a delegate needs %" PRIu64
      " bytes for intermediate results; the limit max_workspace_bytes is %zu",
      workspace_bytes_, max_workspace_bytes_);
  return workspace->reserve(static_cast<size_t>(workspace_bytes_), limit_of_all_);
}

Error Executor::reshape_steps() {
  LibraryMemory memory(&reshaped_bytes_, max_workspace_bytes_, limit_of_all_);
  for (Step& step : steps_) {
    const char* const kind = fb_xnnpack::EnumNameXNodeUnion(step.node.kind);
    if (step.neutral != nullptr) {
      step.neutral = nullptr;
      refer_to_values(&step);
    }
    const Work work = ET_UNWRAP(work_of(step.tensors, step.node, *step.op));
    step.is_idle = work == Work::None;
    if (work == Work::OnNeutralElements) {
      step.neutral = std::make_unique<NeutralOperands>();
      ET_CHECK_OK_OR_RETURN_ERROR(step.neutral->replace(step.node, limit_of_all_, &step.tensors));
    }
    const Error error = step.is_idle ? Error::Ok : step.op->reshape(step.tensors);
    ET_CHECK_OR_RETURN_ERROR(!memory.is_exceeded(), MemoryAllocationFailed,
                             "xnnpack: node %s needs more memory for the addresses of pixels than "
                             "the limit max_workspace_bytes of %zu bytes, or that of all "
                             "delegates together, leaves",
                             kind, max_workspace_bytes_);
    ET_CHECK_OR_RETURN_ERROR(error == Error::Ok, InvalidArgument,
                             "xnnpack: node %s cannot run on inputs of these sizes", kind);
  }
  return Error::Ok;
}

void Executor::plan() {
  const size_t total = graph_.values.size();
  std::vector<size_t> first(total, SIZE_MAX), last(total, 0);
  std::vector<uint64_t> bytes(total, 0);
  for (size_t i = 0; i < steps_.size(); ++i) {
    visit_tensors(&steps_[i].tensors, steps_[i].node, [&](const TensorRef* tensor, uint32_t id) {
      if (*tensor) {
        const uint32_t root = roots_[id];
        first[root] = std::min(first[root], i);
        last[root] = std::max(last[root], i);
        bytes[root] = std::max<uint64_t>(bytes[root], memory_of(*tensor->value, shapes_[id]));
      }
    });
  }
  std::vector<LiveBlock> live;
  blocks_.assign(total, kNoBlock);
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    for (size_t r = 0; r < step.node.result_count; ++r) {
      const uint32_t root = roots_[step.node.results[r]];
      if (!graph_.values[root].is_internal() || blocks_[root] != kNoBlock) {
        continue;
      }
      for (size_t k = 0; r == 0 && k < step.node.operand_count; ++k) {
        if (step.node.operands[k] == kNoValue) {
          continue;
        }
        const uint32_t operand = roots_[step.node.operands[k]];
        if (blocks_[operand] != kNoBlock && last[operand] == i && first[root] == i &&
            !step.is_idle && may_overwrite(step, operand) &&
            bytes[root] <= live[blocks_[operand]].bytes) {
          blocks_[root] = blocks_[operand];
          live[blocks_[root]].last_step = last[root];
          break;
        }
      }
      if (blocks_[root] == kNoBlock) {
        blocks_[root] = live.size();
        live.push_back({bytes[root], first[root], last[root]});
      }
    }
    step.scratch_block = live.size();
    live.push_back({step.is_idle ? 0 : step.op->scratch_bytes(), i, i});
  }
  MemoryPlan planned = plan_memory(live);
  offsets_ = std::move(planned.offsets);
  workspace_bytes_ = planned.total_bytes;
}

bool Executor::may_overwrite(const Step& step, uint32_t root) const {
  const Node& node = step.node;
  const auto is_there = [&](uint32_t id) { return id != kNoValue && roots_[id] == root; };
  for (size_t i = 0; i < node.operand_count; ++i) {
    if (is_there(node.operands[i]) && !step.op->may_overwrite(i)) {
      return false;
    }
  }
  return !is_there(node.residual);
}

Error Executor::bind(Span<void* const> arguments, char* memory) {
  for (Step& step : steps_) {
    visit_tensors(&step.tensors, step.node, [&](TensorRef* tensor, uint32_t id) {
      if (!*tensor) {
        return;
      }
      const Value& root = graph_.values[roots_[id]];
      tensor->data = root.is_constant()          ? const_cast<void*>(root.data)
                     : root.argument != kNoValue ? arguments[root.argument]
                                                 : memory + offsets_[blocks_[roots_[id]]];
    });
    if (step.is_idle) {
      continue;
    }
    if (step.neutral != nullptr) {
      step.neutral->bind(&step.tensors);
    }
    const size_t bytes = step.op->scratch_bytes();
    step.tensors.scratch = bytes == 0 ? nullptr : memory + offsets_[step.scratch_block];
    ET_CHECK_OK_OR_RETURN_ERROR(step.op->bind(step.tensors));
  }
  bound_memory_ = memory;
  bound_arguments_.assign(arguments.begin(), arguments.end());
  return Error::Ok;
}

Error Executor::run(Span<void* const> arguments, Workspace* workspace) {
  char* const memory = workspace->memory();
  if (bound_arguments_.empty() || bound_memory_ != memory ||
      !std::equal(arguments.begin(), arguments.end(), bound_arguments_.begin())) {
    bound_arguments_.clear();
    ET_CHECK_OK_OR_RETURN_ERROR(bind(arguments, memory));
  }
  if (is_profiled_) {
    times_.resize(steps_.size() + 1);
  }
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (is_profiled_) {
      times_[i] = runtime::pal_current_ticks();
    }
    const Error error = steps_[i].is_idle ? Error::Ok : steps_[i].op->run();
    ET_CHECK_OR_RETURN_ERROR(error == Error::Ok, Internal, "xnnpack: node %s failed",
                             fb_xnnpack::EnumNameXNodeUnion(steps_[i].node.kind));
  }
  if (is_profiled_) {
    times_.back() = runtime::pal_current_ticks();
  }
  return Error::Ok;
}

void Executor::describe(ET_RUNTIME_NAMESPACE::DelegateOperatorVisitor visit) const {
  for (const Step& step : steps_) {
    const std::string precision = precision_text(step.node, graph_, step.op->precision());
    const std::string values = values_text(step.node, step.tensors);
    visit({step.op->label(), precision.c_str(), values.c_str()});
  }
}

void Executor::label_steps() {
  // Nodes that change the layout lack a debug handle: they take the next one, or else the previous
  // one.
  std::vector<uint32_t> handles;
  for (const Step& step : steps_) {
    handles.push_back(step.node.debug_handle);
  }
  for (size_t i = handles.size(); i-- > 1;) {
    handles[i - 1] = handles[i - 1] != 0 ? handles[i - 1] : handles[i];
  }
  for (size_t i = 1; i < handles.size(); ++i) {
    handles[i] = handles[i] != 0 ? handles[i] : handles[i - 1];
  }
  std::map<std::string, int> seen;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const std::string name = steps_[i].op->label();
    labels_.push_back(name + " #" + std::to_string(++seen[name]) + " [" +
                      std::to_string(handles[i]) + "]");
  }
}

Error Executor::report(ET_RUNTIME_NAMESPACE::EventTracer& tracer) const {
  for (size_t i = 0; i < labels_.size() && i + 1 < times_.size(); ++i) {
    tracer.log_profiling_delegate(labels_[i].c_str(),
                                  ET_RUNTIME_NAMESPACE::kUnsetDelegateDebugIntId, times_[i],
                                  times_[i + 1]);
  }
  return Error::Ok;
}

}  // namespace executorch::backends::xnnpack
