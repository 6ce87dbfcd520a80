// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/threadpool/worker_pool.h>

#include <new>

#include <executorch/extension/threadpool/denormals.h>
#include <executorch/extension/threadpool/lasting.h>
#include <executorch/extension/threadpool/waiting.h>

using executorch::extension::threadpool::DenormalsAreZero;
using executorch::extension::threadpool::pause_spinning;
using executorch::extension::threadpool::sleep_while;
using executorch::extension::threadpool::wake_all;

namespace {

// Value of pthreadpool::state_.
constexpr uint32_t kJoined = 0x7ff;
constexpr uint32_t kOpen = 0x800;
constexpr uint32_t kEnded = 0x1000;
constexpr uint32_t kCall = 0x2000;

// A worker spins for some tenths of a millisecond, longer than the time between two operators of a
// model. Spinning longer would take cores from other threads. A caller that waits for running tasks
// sleeps sooner, because a worker may need its core.
constexpr int kWorkerSpins = 20000;
constexpr int kCallerSpins = kWorkerSpins / 10;

bool is_new_call(uint32_t state, uint32_t last) {
  return state / kCall != last / kCall || (state & kEnded) != 0;
}

/// Takes one of the remaining items.
bool claim(std::atomic<size_t>& left) {
  size_t count = left.load(std::memory_order_relaxed);
  while (count != 0) {
    if (left.compare_exchange_weak(count, count - 1, std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

}  // namespace

/// All pools of the process. After fork(), each pool must forget its workers, which the child
/// lacks.
class PoolRegistry final {
 public:
  static PoolRegistry& get() {
    alignas(PoolRegistry) static unsigned char place[sizeof(PoolRegistry)];
    static PoolRegistry* const registry =
        new (place) PoolRegistry();  // Lives as long as pools may.
    return *registry;
  }

  void add(pthreadpool* pool) {
    const std::lock_guard<std::mutex> lock(mutex_);
    pool->next_ = first_;
    if (first_ != nullptr) {
      first_->previous_ = pool;
    }
    first_ = pool;
  }

  void remove(pthreadpool* pool) {
    const std::lock_guard<std::mutex> lock(mutex_);
    (pool->previous_ == nullptr ? first_ : pool->previous_->next_) = pool->next_;
    if (pool->next_ != nullptr) {
      pool->next_->previous_ = pool->previous_;
    }
  }

  PoolRegistry() {
    pthread_atfork([] { get().mutex_.lock(); }, [] { get().mutex_.unlock(); },
                   [] { get().forget_workers(); });
  }

 private:
  void forget_workers() {
    for (pthreadpool* pool = first_; pool != nullptr; pool = pool->next_) {
      pool->forget_workers();
    }
    mutex_.unlock();
  }

  std::mutex mutex_;
  pthreadpool* first_ = nullptr;
};

std::unique_ptr<pthreadpool> pthreadpool::start(size_t count) {
  if (count == 0 || count > kJoined) {
    return nullptr;
  }
  std::unique_ptr<pthreadpool> pool(new (std::nothrow) pthreadpool(count));
  if (pool == nullptr) {
    return nullptr;
  }
  PoolRegistry::get().add(pool.get());
  pool->shares_.reset(new (std::nothrow) Share[count]);
  if (pool->shares_ == nullptr || !pool->start_workers()) {
    return nullptr;
  }
  return pool;
}

bool pthreadpool::start_workers() {
  while (started_ < count_) {
    Share& share = shares_[started_];
    share.pool = this;
    if (pthread_create(&share.thread, nullptr, work, &share) != 0) {
      return false;
    }
    ++started_;
  }
  return true;
}

pthreadpool::~pthreadpool() {
  PoolRegistry::get().remove(this);
  publish(state_.load() | kEnded);
  for (size_t i = 1; i < started_; ++i) {
    pthread_join(shares_[i].thread, nullptr);
  }
}

/// Another thread may have held the lock and joined calls at the time of fork().
void pthreadpool::forget_workers() {
  new (&calls_) std::mutex();
  started_ = 1;
  state_.store(0);
  sleeping_workers_.store(0);
  caller_sleeps_.store(0);
}

void pthreadpool::run_alone(Task task, size_t items, uint32_t flags) {
  const DenormalsAreZero zeros((flags & kDenormalsAreZero) != 0);
  for (size_t item = 0; item < items; ++item) {
    task(0, item);
  }
}

void pthreadpool::run(Task task, size_t items, uint32_t flags) {
  if (count_ == 1 || items <= 1) {
    run_alone(task, items, flags);
    return;
  }
  const std::lock_guard<std::mutex> lock(calls_);
  (void)start_workers();  // Running threads do the work of threads that fail to start.
  task_ = &task;
  flags_ = flags;
  divide(items);
  publish((state_.load() / kCall + 1) * kCall | kOpen);
  do_items(0);
  close_call();
}

void pthreadpool::divide(size_t items) {
  const size_t quotient = items / count_;
  const size_t longer = items % count_;
  size_t first = 0;
  for (size_t i = 0; i < count_; ++i) {
    const size_t length = quotient + (i < longer ? 1 : 0);
    shares_[i].left.store(length, std::memory_order_relaxed);
    shares_[i].first = first;
    first += length;
    shares_[i].last.store(first, std::memory_order_relaxed);
  }
}

void pthreadpool::do_items(size_t thread) {
  const DenormalsAreZero zeros((flags_ & kDenormalsAreZero) != 0);
  Share& own = shares_[thread];
  while (claim(own.left)) {
    (*task_)(thread, own.first++);
  }
  for (size_t i = 1; i < count_; ++i) {
    Share& other = shares_[(thread + i) % count_];
    while (claim(other.left)) {
      (*task_)(thread, other.last.fetch_sub(1, std::memory_order_relaxed) - 1);
    }
  }
}

void pthreadpool::publish(uint32_t state) {
  state_.store(state);
  if (sleeping_workers_.load() != 0) {
    wake_all(state_);
  }
}

/// Closes the call for further workers, and waits for those that joined.
void pthreadpool::close_call() {
  if ((state_.fetch_and(~kOpen) & kJoined) == 0) {
    return;
  }
  for (int left = kCallerSpins; left != 0; --left) {
    if ((state_.load(std::memory_order_acquire) & kJoined) == 0) {
      return;
    }
    pause_spinning();
  }
  for (;;) {
    caller_sleeps_.store(1);
    if ((state_.load() & kJoined) == 0) {
      break;
    }
    sleep_while(caller_sleeps_, 1);
  }
  caller_sleeps_.store(0);
}

void pthreadpool::leave() {
  const uint32_t state = state_.fetch_sub(1) - 1;
  if ((state & (kOpen | kJoined)) == 0 && caller_sleeps_.exchange(0) != 0) {
    wake_all(caller_sleeps_);
  }
}

uint32_t pthreadpool::wait_for_call(uint32_t last, bool spins) {
  for (int left = spins ? kWorkerSpins : 0; left != 0; --left) {
    const uint32_t state = state_.load(std::memory_order_acquire);
    if (is_new_call(state, last)) {
      return state;
    }
    pause_spinning();
  }
  for (;;) {
    // Either the thread that changes the state sees this count, or this thread sees the change.
    sleeping_workers_.fetch_add(1);
    const uint32_t state = state_.load();
    if (!is_new_call(state, last)) {
      sleep_while(state_, state);
    }
    sleeping_workers_.fetch_sub(1);
    const uint32_t now = state_.load();
    if (is_new_call(now, last)) {
      return now;
    }
  }
}

void* pthreadpool::work(void* argument) {
  Share& share = *static_cast<Share*>(argument);
  pthreadpool& pool = *share.pool;
  const size_t thread = static_cast<size_t>(&share - pool.shares_.get());
  uint32_t last = 0;
  for (bool spins = true;;) {
    uint32_t state = pool.wait_for_call(last, spins);
    if ((state & kEnded) != 0) {
      return nullptr;
    }
    if ((state & kOpen) == 0) {  // Too late for this call.
      last = state;
    } else if (pool.state_.compare_exchange_weak(state, state + 1)) {
      last = state;
      pool.do_items(thread);
      spins = (pool.flags_ & kWorkersSleep) == 0;
      pool.leave();
    }
  }
}
