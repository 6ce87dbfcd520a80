// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Threads and temporary memory of a kernel, for the engine.
#pragma once

#include <executorch/kernels/engine/gemm/gemm.h>
#include <executorch/kernels/engine/threads.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/parallel.h>

namespace executorch::kernels::optimized {

/// The threads that are offered to kernels, as many as have `min_work` units of the work each.
class KernelThreads final : public engine::Threads {
 public:
  KernelThreads(size_t work, size_t min_work) : count_(runtime::parallel_parts(work, min_work)) {}
  size_t count() const override { return count_; }
  void run(size_t tasks, runtime::FunctionRef<void(size_t)> task) override {
    runtime::run_parallel(task, tasks);
  }
  /// Limits the work to the calling thread.
  void limit() { count_ = 1; }

 private:
  size_t count_;
};

/// Allocates bytes_of(threads) bytes of temporary memory, or, if there is too little, the bytes for
/// one thread. Null if that fails too.
template <class BytesOf>
void* scratch_for(KernelRuntimeContext& ctx, KernelThreads& threads, BytesOf&& bytes_of) {
  const auto take = [&]() -> void* {
    const size_t bytes = bytes_of(threads.count());
    if (bytes >= SIZE_MAX / 2) return nullptr;
    const auto memory = ctx.allocate_temp(bytes + 1, engine::kAlignment);
    return memory.ok() ? *memory : nullptr;
  };
  void* const all = take();
  if (all != nullptr || threads.count() == 1) return all;
  threads.limit();
  return take();
}

}  // namespace executorch::kernels::optimized
