// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/threadpool/waiting.h>

#if defined(__linux__)
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#else
#include <condition_variable>
#include <mutex>

#include <executorch/extension/threadpool/lasting.h>
#endif

namespace executorch::extension::threadpool {

#if defined(__linux__)

// A futex has no state besides the word, so a forked process can continue to use it.
static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "the system reads the word");

void sleep_while(std::atomic<uint32_t>& word, uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, value, nullptr);
}

void wake_all(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX);
}

#else

namespace {

/// Shared by all words: a spurious wake only costs a check of the word.
struct Sleepers {
  std::mutex mutex;
  std::condition_variable change;
};

Sleepers& sleepers() { return lasting<Sleepers>(); }

}  // namespace

void sleep_while(std::atomic<uint32_t>& word, uint32_t value) {
  std::unique_lock<std::mutex> lock(sleepers().mutex);
  if (word.load() == value) {
    sleepers().change.wait(lock);
  }
}

void wake_all(std::atomic<uint32_t>&) {
  const std::lock_guard<std::mutex> lock(sleepers().mutex);
  sleepers().change.notify_all();
}

#endif

}  // namespace executorch::extension::threadpool
