// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The base of operators that run on the CPU engine, and shared helpers.
#pragma once

#include <algorithm>

#include <executorch/backends/xnnpack/runtime/operators/operator.h>
#include <executorch/kernels/engine/eltwise/eltwise.h>
#include <executorch/kernels/engine/epilogue.h>
#include <executorch/kernels/engine/threads.h>
#include <executorch/runtime/core/function_ref.h>

namespace executorch::backends::xnnpack {

namespace engine = ::executorch::kernels::engine;

/// Minimum number of bytes that a thread moves.
inline constexpr size_t kBytesPerTask = size_t{1} << 16;

/// A thread pool for the engine. With a null pool, work runs on the calling thread.
class PoolThreads final : public engine::Threads {
 public:
  explicit PoolThreads(pthreadpool_t pool) : pool_(pool) {}

  size_t count() const override;
  void run(size_t tasks, runtime::FunctionRef<void(size_t)> task) override;
  /// Calls part(first, size) for parts of at most `per_task` of `total` items, on all threads.
  template <typename Part>
  void in_parts(size_t total, size_t per_task, const Part& part) {
    run((total + per_task - 1) / per_task, [&](size_t task) {
      const size_t first = task * per_task;
      part(first, std::min(per_task, total - first));
    });
  }

 private:
  pthreadpool_t pool_;
};

/// An operator on the engine: keeps a thread pool and the tensors that it is bound to.
class EngineOperator : public Operator {
 public:
  runtime::Error bind(const Tensors& tensors) final {
    tensors_ = tensors;
    return runtime::Error::Ok;
  }

 protected:
  EngineOperator(const char* label, const OperatorContext& context)
      : Operator(label), threads_(context.threads) {}

  PoolThreads& threads() { return threads_; }
  const Tensors& tensors() const { return tensors_; }
  const float* operand(size_t i) const {
    return static_cast<const float*>(tensors_.operands[i].data);
  }
  float* result() const { return static_cast<float*>(tensors_.results[0].data); }
  char* scratch() const { return static_cast<char*>(tensors_.scratch); }

 private:
  PoolThreads threads_;
  Tensors tensors_;
};

/// True for a node whose operands and results are all float32.
bool is_float32(const Node& node, const OperatorContext& context);

/// Weights in packed form, from the cache or owned.
class PackedFloats final {
 public:
  /// @param layout Identifies the packed form for given contents and sizes.
  /// @param bias May be null.
  /// @param pack Writes every byte. Returns false if the memory of all delegates does not suffice.
  /// @retval Error::MemoryAllocationFailed
  runtime::Error create(const OperatorContext& context, uint32_t layout, const Value& weights,
                        const Value* bias, size_t bytes, runtime::FunctionRef<bool(float*)> pack);
  /// True if create() would find weights that an earlier delegate or load has packed.
  static bool exist(const OperatorContext& context, uint32_t layout, const Value& weights,
                    const Value* bias);
  const float* data() const { return data_; }

 private:
  const float* data_ = nullptr;
  std::shared_ptr<PackedBlock> own_;
};

/// Bytes of scratch memory, a multiple of 64, for a product that cannot be written to the result
/// and added to the residual there, because one of them is broadcast; 0 for other products.
size_t bytes_of_broadcast_product(const Tensors& tensors, Datatype datatype);

/// Clamp, activation and residual of a product. If the residual has the product's shape, it is part
/// of the engine's epilogue; otherwise finish() adds it.
class FusedTail final {
 public:
  explicit FusedTail(const Node& node) : clamp_(node.clamp), activation_(node.activation) {}

  void reshape(const Tensors& tensors);
  /// A multiple of 64. This memory is before the operator's other scratch memory.
  size_t scratch_bytes() const { return scratch_bytes_; }
  /// The memory that the product writes to.
  float* target(const Tensors& tensors) const;
  engine::Epilogue epilogue(const Tensors& tensors) const;
  /// Completes a product in scratch memory: adds the residual, clamps and activates.
  void finish(const Tensors& tensors, engine::Threads& threads) const;

 private:
  Clamp clamp_;
  engine::Activation activation_;
  size_t scratch_bytes_ = 0;
};

/// The strides that broadcast a shape to another, in elements.
void broadcast_strides(const Shape& from, const Shape& to, size_t* strides);

}  // namespace executorch::backends::xnnpack
