// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stdint.h>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace executorch::extension::threadpool {

/// While an object of this type exists, the calling thread treats denormal floating-point numbers
/// as zero, if `wanted` and if the processor can.
class DenormalsAreZero final {
 public:
  explicit DenormalsAreZero(bool wanted) : wanted_(wanted) {
    if (wanted_) {
      before_ = control();
      set_control(before_ | kFlush);
    }
  }
  ~DenormalsAreZero() {
    if (wanted_) {
      set_control(before_);
    }
  }
  DenormalsAreZero(const DenormalsAreZero&) = delete;
  DenormalsAreZero& operator=(const DenormalsAreZero&) = delete;

 private:
#if defined(__SSE__)
  static constexpr uint64_t kFlush = 0x8040;  // MXCSR: results (15), operands (6)
  static uint64_t control() { return _mm_getcsr(); }
  static void set_control(uint64_t value) { _mm_setcsr(static_cast<unsigned>(value)); }
#elif defined(__aarch64__)
  static constexpr uint64_t kFlush = uint64_t(1) << 24;  // FPCR.FZ
  static uint64_t control() {
    uint64_t value = 0;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void set_control(uint64_t value) { __asm__ volatile("msr fpcr, %0" ::"r"(value)); }
#else
  static constexpr uint64_t kFlush = 0;
  static uint64_t control() { return 0; }
  static void set_control(uint64_t) {}
#endif

  const bool wanted_;
  uint64_t before_ = 0;
};

}  // namespace executorch::extension::threadpool
