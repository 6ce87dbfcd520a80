// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Calls of the engine for contiguous rows that are computed in float32.
#pragma once

#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/optimized/kernel_threads.h>

namespace executorch::kernels::optimized {

struct RowTensors {
  const char* in;
  char* out;
  ScalarType dtype;  ///< of both; not Double
  size_t rows, length;
};

/// Calls f(in, out, first row, rows, threads) until all rows are done: once for float32, else row
/// by row through a buffer. `min_work`: elements worth the start of a thread. Returns false,
/// and writes nothing, if buffers cannot be allocated.
template <class F>
bool for_float_rows(KernelRuntimeContext& ctx, const RowTensors& t, size_t min_work, F&& f) {
  KernelThreads threads(t.rows * t.length, min_work);
  if (t.dtype == ScalarType::Float) {
    f(reinterpret_cast<const float*>(t.in), reinterpret_cast<float*>(t.out), size_t{0}, t.rows,
      static_cast<engine::Threads&>(threads));
    return true;
  }
  constexpr int64_t kSize = sizeof(float);
  const size_t bytes = engine::round_up(t.length * kSize, engine::kAlignment);
  char* const buffers =
      static_cast<char*>(scratch_for(ctx, threads, [&](size_t count) { return count * bytes; }));
  if (buffers == nullptr) return false;
  const int64_t width = width_of(t.dtype), n = int64_t(t.length);
  engine::for_each_item(threads, t.rows, [&](size_t row, size_t worker) {
    char* const buffer = buffers + worker * bytes;
    float* const values = reinterpret_cast<float*>(buffer);
    const size_t at = row * t.length * size_t(width);
    load(t.dtype, Compute::Float)(buffer, kSize, t.in + at, width, n);
    engine::CallingThread thread;
    f(static_cast<const float*>(values), values, row, size_t{1},
      static_cast<engine::Threads&>(thread));
    store(Compute::Float, t.dtype)(t.out + at, width, buffer, kSize, n);
  });
  return true;
}

}  // namespace executorch::kernels::optimized
