// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/norm.h>

#include <executorch/kernels/engine/row_items.h>
#include <executorch/kernels/engine/row_vectors.h>
#include <executorch/kernels/engine/simd_dispatch.h>

namespace executorch::kernels::engine {
namespace {

template <int kBytes>
ET_VECTOR_INLINE float mean_of(const float* in, size_t n) {
  using V = typename RowVector<kBytes>::Floats;
  V sums = {};
  for_each_vector<kBytes>(
      in, n, 0.0f, [&](const V& x, size_t, size_t) __attribute__((always_inline)) { sums += x; });
  return sum_lanes<kBytes>(sums) / float(n);
}

/// Of squared differences from `center`, which lanes beyond the end are filled with.
template <int kBytes>
ET_VECTOR_INLINE float mean_square(const float* in, size_t n, float center) {
  using V = typename RowVector<kBytes>::Floats;
  V squares = {};
  for_each_vector<kBytes>(in, n, center,
                          [&](const V& x, size_t, size_t) __attribute__((always_inline)) {
                            squares += (x - center) * (x - center);
                          });
  return sum_lanes<kBytes>(squares) / float(n);
}

/// (x - center) * scale * weight[i] + bias[i]
template <int kBytes>
ET_VECTOR_INLINE void scale_by_element(const NormCall& call, const float* in, float* out,
                                       float center, float scale) {
  using V = typename RowVector<kBytes>::Floats;
  const float *const weight = call.weight, *const bias = call.bias;
  for_each_vector<kBytes>(in, call.length, 0.0f,
                          [&](const V& x, size_t i, size_t count) __attribute__((always_inline)) {
                            if (count == RowVector<kBytes>::kCount) {
                              V y = (x - center) * scale;
                              if (weight != nullptr) y *= *reinterpret_cast<const V*>(weight + i);
                              if (bias != nullptr) y += *reinterpret_cast<const V*>(bias + i);
                              *reinterpret_cast<V*>(out + i) = y;
                              return;
                            }
                            for (size_t j = 0; j < count; ++j) {
                              const float y = (x[j] - center) * scale *
                                              (weight != nullptr ? weight[i + j] : 1.0f);
                              out[i + j] = y + (bias != nullptr ? bias[i + j] : 0.0f);
                            }
                          });
}

ET_VECTOR_INLINE void report(const NormCall& call, size_t row, float center, float scale) {
  if (call.mean != nullptr) call.mean[row] = center;
  if (call.rstd != nullptr) call.rstd[row] = scale;
}

template <int kBytes>
void layer_norm_rows(const NormCall* call, size_t first, size_t count) {
  for (size_t row = first; row < first + count; ++row) {
    const float* const in = call->in + row * call->length;
    const float center = mean_of<kBytes>(in, call->length);
    const float variance = mean_square<kBytes>(in, call->length, center);
    const float scale = 1.0f / __builtin_sqrtf(variance + call->epsilon);
    scale_by_element<kBytes>(*call, in, call->out + row * call->length, center, scale);
    report(*call, row, center, scale);
  }
}

template <int kBytes>
void rms_norm_rows(const NormCall* call, size_t first, size_t count) {
  for (size_t row = first; row < first + count; ++row) {
    const float* const in = call->in + row * call->length;
    const float squares = mean_square<kBytes>(in, call->length, 0.0f);
    const float scale = 1.0f / __builtin_sqrtf(squares + call->epsilon);
    scale_by_element<kBytes>(*call, in, call->out + row * call->length, 0.0f, scale);
    report(*call, row, 0.0f, scale);
  }
}

template <int kBytes>
void group_norm_rows(const GroupNormCall* call, size_t first, size_t count) {
  using V = typename RowVector<kBytes>::Floats;
  const NormCall& rows = call->rows;
  for (size_t row = first; row < first + count; ++row) {
    const float* in = rows.in + row * rows.length;
    float* out = rows.out + row * rows.length;
    const float center = mean_of<kBytes>(in, rows.length);
    const float variance = mean_square<kBytes>(in, rows.length, center);
    const float scale = 1.0f / __builtin_sqrtf(variance + rows.epsilon);
    report(rows, row, center, scale);
    const size_t channel = row % call->groups * call->channels_per_group;
    for (size_t c = 0; c < call->channels_per_group; ++c) {
      const float weight = rows.weight == nullptr ? 1.0f : rows.weight[channel + c];
      const float bias = rows.bias == nullptr ? 0.0f : rows.bias[channel + c];
      for_each_vector<kBytes>(in, call->plane, 0.0f,
                              [&](const V& x, size_t i, size_t n) __attribute__((always_inline)) {
                                const V y = (x - center) * scale * weight + bias;
                                put<kBytes>(out + i, y, n);
                              });
      in += call->plane;
      out += call->plane;
    }
  }
}

}  // namespace

void layer_norm(const NormCall& call, Threads& threads, InstructionSet set) {
  const auto rows = ET_COMPILED_FOR(set, layer_norm_rows);
  for_each_rows(threads, call.rows, call.length,
                [&](size_t first, size_t count) { rows(&call, first, count); });
}

void rms_norm(const NormCall& call, Threads& threads, InstructionSet set) {
  const auto rows = ET_COMPILED_FOR(set, rms_norm_rows);
  for_each_rows(threads, call.rows, call.length,
                [&](size_t first, size_t count) { rows(&call, first, count); });
}

void group_norm(const GroupNormCall& call, Threads& threads, InstructionSet set) {
  const auto rows = ET_COMPILED_FOR(set, group_norm_rows);
  for_each_rows(threads, call.rows.rows, call.rows.length,
                [&](size_t first, size_t count) { rows(&call, first, count); });
}

}  // namespace executorch::kernels::engine
