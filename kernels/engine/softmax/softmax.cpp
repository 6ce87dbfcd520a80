// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/softmax.h>

#include <executorch/kernels/engine/row_items.h>
#include <executorch/kernels/engine/row_vectors.h>
#include <executorch/kernels/engine/simd_dispatch.h>

namespace executorch::kernels::engine {
namespace {

/// Skips NaN, which the exponentials bring back.
template <int kBytes>
ET_VECTOR_INLINE float max_of(const float* in, size_t n) {
  using V = typename RowVector<kBytes>::Floats;
  V most = V{} - __builtin_inff();
  for_each_vector<kBytes>(in, n, -__builtin_inff(),
                          [&](const V& x, size_t, size_t)
                              __attribute__((always_inline)) { most = x > most ? x : most; });
  float result = most[0];
  for (size_t j = 1; j < RowVector<kBytes>::kCount; ++j) {
    result = most[j] > result ? most[j] : result;
  }
  return result;
}

/// The sum of exp(x - most); each term is passed to `keep`.
template <int kBytes, class Keep>
ET_VECTOR_INLINE float sum_exp(const float* in, size_t n, float most, Keep&& keep) {
  using V = typename RowVector<kBytes>::Floats;
  using I = typename RowVector<kBytes>::Ints;
  V sums = {};
  float rest = 0;
  for_each_vector<kBytes>(in, n, 0.0f,
                          [&](const V& x, size_t i, size_t count) __attribute__((always_inline)) {
                            V e;
                            vector_exp<V, I>(x - most, e);
                            keep(e, i, count);
                            if (count == RowVector<kBytes>::kCount) {
                              sums += e;
                            } else {
                              for (size_t j = 0; j < count; ++j) rest += e[j];
                            }
                          });
  return sum_lanes<kBytes>(sums) + rest;
}

template <int kBytes>
void softmax_rows(const SoftmaxCall* call, size_t first, size_t count) {
  using V = typename RowVector<kBytes>::Floats;
  const size_t n = call->length;
  for (size_t row = first; row < first + count; ++row) {
    const float* const in = call->in + row * call->in_stride;
    float* const out = call->out + row * call->out_stride;
    const float sum =
        sum_exp<kBytes>(in, n, max_of<kBytes>(in, n),
                        [&](const V& e, size_t i, size_t valid)
                            __attribute__((always_inline)) { put<kBytes>(out + i, e, valid); });
    const float factor = 1.0f / sum;
    for_each_vector<kBytes>(out, n, 0.0f,
                            [&](const V& e, size_t i, size_t valid) __attribute__((always_inline)) {
                              const V y = e * factor;
                              put<kBytes>(out + i, y, valid);
                            });
  }
}

template <int kBytes>
void log_softmax_rows(const SoftmaxCall* call, size_t first, size_t count) {
  using V = typename RowVector<kBytes>::Floats;
  const size_t n = call->length;
  for (size_t row = first; row < first + count; ++row) {
    const float* const in = call->in + row * call->in_stride;
    float* const out = call->out + row * call->out_stride;
    const float most = max_of<kBytes>(in, n);
    const float sum = sum_exp<kBytes>(
        in, n, most, [](const V&, size_t, size_t) __attribute__((always_inline)) {});
    const float shift = __builtin_logf(sum);
    for_each_vector<kBytes>(in, n, 0.0f,
                            [&](const V& x, size_t i, size_t valid) __attribute__((always_inline)) {
                              const V y = x - most - shift;
                              put<kBytes>(out + i, y, valid);
                            });
  }
}

}  // namespace

void softmax(const SoftmaxCall& call, Threads& threads, InstructionSet set) {
  const auto rows = ET_COMPILED_FOR(set, softmax_rows);
  for_each_rows(threads, call.rows, call.length,
                [&](size_t first, size_t count) { rows(&call, first, count); });
}

void log_softmax(const SoftmaxCall& call, Threads& threads, InstructionSet set) {
  const auto rows = ET_COMPILED_FOR(set, log_softmax_rows);
  for_each_rows(threads, call.rows, call.length,
                [&](size_t first, size_t count) { rows(&call, first, count); });
}

}  // namespace executorch::kernels::engine
