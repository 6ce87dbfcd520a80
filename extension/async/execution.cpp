// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/async/execution.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <utility>

#include <executorch/extension/async/heap_temp_allocator.h>
#include <executorch/extension/async/task_order.h>
#include <executorch/runtime/core/event_tracer_hooks.h>
#include <executorch/runtime/executor/execute/call_failure.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

using executorch::runtime::Task;
using executorch::runtime::TaskPool;
using executorch::runtime::internal::HeapTempAllocator;
using executorch::runtime::internal::KeptTempBlocks;

/// The order of a method's tasks, and temporary memory that the next execution uses again.
struct TaskState final : AsyncState {
  explicit TaskState(TaskOrder&& order_of_tasks)
      : AsyncState{[](AsyncState* state) { delete static_cast<TaskState*>(state); }},
        order(std::move(order_of_tasks)) {}

  const TaskOrder order;
  KeptTempBlocks temp_blocks;
};

/// A finished task decrements the counts of its followers, continues with the first
/// follower that becomes ready, and posts the other ready ones.
class PostedTasks final : public RunningTasks {
 public:
  static Result<std::unique_ptr<PostedTasks>> make(Method& method, TaskState& state,
                                                   TaskPool& pool) {
    std::unique_ptr<PostedTasks> running(new (std::nothrow) PostedTasks(method, state, pool));
    const TaskOrder& order = state.order;
    const size_t tasks = order.ends.size();
    if (running != nullptr) running->tasks_.reset(new (std::nothrow) Node[tasks]);
    ET_CHECK_OR_RETURN_ERROR(running != nullptr && running->tasks_ != nullptr,
                             MemoryAllocationFailed, "cannot allocate an execution of %zu tasks",
                             tasks);
    for (size_t i = 0; i < tasks; ++i) {
      Node& node = running->tasks_[i];
      node.running = running.get();
      node.index = static_cast<uint32_t>(i);
      node.waits_for.store(order.waits_for[i], std::memory_order_relaxed);
    }
    return running;
  }

  void start() {
    // Collect the initially ready tasks before running any: later, counts of other tasks reach 0
    // too.
    for (size_t i = 0; i < order_.ends.size(); ++i) {
      if (order_.waits_for[i] == 0) pool_.post(tasks_[i]);
    }
  }

  void cancel() override { is_cancelled_.store(true, std::memory_order_relaxed); }

  Error wait() override {
    std::unique_lock<std::mutex> lock(mutex_);
    ended_.wait(lock, [this] { return has_ended_; });
    return result_;
  }

  bool wait_for(uint64_t milliseconds) override {
    std::unique_lock<std::mutex> lock(mutex_);
    return ended_.wait_for(lock,
                           std::chrono::milliseconds(std::min(milliseconds, kMaxMilliseconds)),
                           [this] { return has_ended_; });
  }

  bool was_cancelled() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return has_been_cancelled_;
  }

  size_t task_count() const override { return order_.ends.size(); }

 private:
  struct Node final : Task {
    void run() override { running->run_from(index); }

    PostedTasks* running = nullptr;
    uint32_t index = 0;
    std::atomic<uint32_t> waits_for{0};
  };
  static constexpr uint32_t kNone = UINT32_MAX;
  /// A hundred years. The clock's nanoseconds overflow int64 after 292 years.
  static constexpr uint64_t kMaxMilliseconds = uint64_t{36525} * 24 * 60 * 60 * 1000;

  PostedTasks(Method& method, TaskState& state, TaskPool& pool)
      : RunningTasks(method),
        order_(state.order),
        temp_blocks_(state.temp_blocks),
        pool_(pool),
        left_(state.order.ends.size()),
        instructions_left_(instruction_budget()) {}

  void run_from(uint32_t index) {
    size_t done = 0;
    {
      HeapTempAllocator temp(temp_blocks_);
      for (; index != kNone; index = release_followers(index)) {
        run_task(index, temp);
        ++done;
      }
    }
    // The object stays alive until the last task decrements `left_` to 0.
    if (left_.fetch_sub(done, std::memory_order_acq_rel) == done) finish();
  }

  void run_task(uint32_t index, HeapTempAllocator& temp) {
    size_t next = index == 0 ? 0 : order_.ends[index - 1];
    const size_t end = order_.ends[index];
    KernelRuntimeContext context(nullptr, &temp);
    while (next < end) {
      if (is_cancelled_.load(std::memory_order_relaxed) ||
          failed_at_.load(std::memory_order_relaxed) < next) {
        was_stopped_.store(true, std::memory_order_relaxed);
        return;
      }
      const size_t at = next;
      Error error = run_at(&next, context);
      if (error == Error::Ok && next <= at) error = spend(at, at - next + 1);
      if (error != Error::Ok) {
        log_failure(at, error);
        note_failure(at, error);
        return;
      }
    }
  }

  /// Subtracts a loop iteration, which ends at instruction `at`, from the instruction budget.
  Error spend(size_t at, size_t round) {
    if (instruction_budget() == 0) return Error::Ok;
    size_t left = instructions_left_.load(std::memory_order_relaxed);
    do {
      if (round > left) {
        budget_is_used_up_.store(true, std::memory_order_relaxed);
        return log_used_budget(at);
      }
    } while (
        !instructions_left_.compare_exchange_weak(left, left - round, std::memory_order_relaxed));
    return Error::Ok;
  }

  /// Keeps the earliest error in program order.
  void note_failure(size_t instruction, Error error) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (instruction < failed_at_.load(std::memory_order_relaxed)) {
      failed_at_.store(instruction, std::memory_order_relaxed);
      result_ = error;
    }
  }

  uint32_t release_followers(uint32_t index) {
    uint32_t next = kNone;
    const uint32_t end = order_.first_follower[index + 1];
    for (uint32_t i = order_.first_follower[index]; i < end; ++i) {
      Node& follower = tasks_[order_.followers[i]];
      if (follower.waits_for.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
      if (next == kNone) {
        next = follower.index;
      } else {
        pool_.post(follower);
      }
    }
    return next;
  }

  void finish() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (result_ == Error::Ok && was_stopped_.load(std::memory_order_relaxed)) {
      result_ = Error::InvalidState;
      has_been_cancelled_ = true;
    }
    end(result_, budget_is_used_up_.load(std::memory_order_relaxed));
    has_ended_ = true;
    ended_.notify_all();
  }

  const TaskOrder& order_;
  KeptTempBlocks& temp_blocks_;
  TaskPool& pool_;
  std::unique_ptr<Node[]> tasks_;
  std::atomic<size_t> left_;
  std::atomic<size_t> instructions_left_;
  std::atomic<bool> budget_is_used_up_{false};
  std::atomic<bool> is_cancelled_{false};
  std::atomic<bool> was_stopped_{false};
  /// Earliest failed instruction; later ones are not started.
  std::atomic<size_t> failed_at_{SIZE_MAX};
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  bool has_been_cancelled_ = false;
  Error result_ = Error::Ok;
};

}  // namespace internal

Result<Execution> Method::execute_async(executorch::runtime::TaskPool& pool) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_usable());
  ET_CHECK_OR_RETURN_ERROR(next_ == 0, InvalidState, "method '%s': an execution is in progress",
                           name());
  ET_CHECK_OR_RETURN_ERROR(!internal::tracing(event_tracer_), NotSupported,
                           "method '%s': event tracers support only one thread; use execute()",
                           name());
  if (async_state_ == nullptr) {
    internal::TaskOrder order = ET_UNWRAP(internal::load_task_order(*program_, *plan_, block_));
    async_state_ = new (std::nothrow) internal::TaskState(std::move(order));
    ET_CHECK_OR_RETURN_ERROR(async_state_ != nullptr, MemoryAllocationFailed,
                             "method '%s': cannot allocate the order of its tasks", name());
  }
  std::unique_ptr<internal::PostedTasks> running = ET_UNWRAP(
      internal::PostedTasks::make(*this, static_cast<internal::TaskState&>(*async_state_), pool));
  ET_CHECK_OK_OR_RETURN_ERROR(begin());
  runs_elsewhere_.store(true, std::memory_order_relaxed);
  running->start();
  return Execution(std::move(running));
}

void Method::log_failure(size_t instruction, Error error) {
  internal::log_call_failure(*plan_, block_, instruction, error);
}

void Method::end_async(Error result) {
  if (result != Error::Ok) {
    restore_values();
  }
  runs_elsewhere_.store(false, std::memory_order_release);
}

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
