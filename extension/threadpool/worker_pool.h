// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The implementation of pthreadpool_t.
//
// A call is a number of items, divided into one share for each thread. A thread takes the items of
// its share from the front, then items from the end of other shares. Workers may join a call while
// it is open. The caller closes it when no item is left, and waits only for workers that joined.
// Therefore a worker without a core, because other programs use all cores, delays no call.
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <memory>
#include <mutex>

#include <executorch/runtime/core/function_ref.h>

/// A thread pool whose first thread is the caller of run(). <pthreadpool.h> declares the global
/// name.
struct pthreadpool final {
 public:
  using Task = executorch::runtime::FunctionRef<void(size_t thread, size_t item)>;

  /// Options of run(). Each has the value of its PTHREADPOOL_FLAG_*.
  enum Flag : uint32_t {
    kDenormalsAreZero = 1,
    kWorkersSleep = 2,  ///< The workers do not spin after this call.
  };

  /// Returns null if the memory is exhausted or the system starts fewer than `count` - 1 threads.
  static std::unique_ptr<pthreadpool> start(size_t count);
  ~pthreadpool();
  pthreadpool(const pthreadpool&) = delete;
  pthreadpool& operator=(const pthreadpool&) = delete;

  size_t thread_count() const { return count_; }

  /// Calls task(thread, item) once for each item below `items`, where `thread` is below
  /// thread_count() and differs between threads that run at the same time. Returns when all calls
  /// returned. Calls from several threads run one after the other; a call from within a task on the
  /// same pool never returns.
  ///
  /// In a process that fork() made, the first call starts the workers anew.
  void run(Task task, size_t items, uint32_t flags);

  /// The same on the calling thread alone.
  static void run_alone(Task task, size_t items, uint32_t flags);

 private:
  friend class PoolRegistry;
  struct alignas(64) Share {
    std::atomic<size_t> left{0};  // Number of items that are not taken.
    size_t first = 0;             // Only the owner uses it.
    std::atomic<size_t> last{0};  // End of the items that are left.
    pthread_t thread{};
    pthreadpool* pool = nullptr;
  };

  explicit pthreadpool(size_t count) : count_(count) {}
  bool start_workers();
  void forget_workers();
  static void* work(void* share);
  uint32_t wait_for_call(uint32_t last, bool spins);
  void publish(uint32_t state);
  void leave();
  void close_call();
  void divide(size_t items);
  void do_items(size_t thread);

  const size_t count_;
  size_t started_ = 1;  // Threads that exist, with the caller.
  std::unique_ptr<Share[]> shares_;
  std::mutex calls_;
  const Task* task_ = nullptr;
  uint32_t flags_ = 0;
  // The number of the call, whether it is open, whether the pool ends, and how many joined.
  alignas(64) std::atomic<uint32_t> state_{0};
  std::atomic<uint32_t> sleeping_workers_{0};
  std::atomic<uint32_t> caller_sleeps_{0};
  pthreadpool* next_ = nullptr;  // The list of all pools of the process.
  pthreadpool* previous_ = nullptr;
};
