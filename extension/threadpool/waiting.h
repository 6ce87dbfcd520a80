// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// How threads wait for a word of memory to change.
#pragma once

#include <stdint.h>

#include <atomic>

namespace executorch::extension::threadpool {

/// Sleeps until wake_all(word), unless `word` already differs from `value`. May return spuriously:
/// check the word again.
void sleep_while(std::atomic<uint32_t>& word, uint32_t value);

/// Wakes all threads that sleep because of `word`. Change the word before.
void wake_all(std::atomic<uint32_t>& word);

/// Signals the processor that this thread spins.
inline void pause_spinning() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || (defined(__arm__) && __ARM_ARCH >= 7)
  __asm__ volatile("yield");
#endif
}

}  // namespace executorch::extension::threadpool
