// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The inner loops of attention over one block of keys, for vectors of kBytes. Rows are padded with
// zeros to kRowAlignment floats, so that no loop has a tail.
#pragma once

#include <cstdint>
#include <cstring>

#include <executorch/extension/llm/custom_ops/attention.h>
#include <executorch/kernels/engine/row_vectors.h>

namespace executorch::extension::llm {
namespace {  // Compiled for several instruction sets: no copy may stand for another.

using kernels::engine::RowVector;
using kernels::engine::vector_exp;

constexpr int64_t kBlockKeys = 64;
/// Rows of queries that pass a block of keys together.
constexpr int64_t kMaxRows = 64;
constexpr int64_t kRowAlignment = 16;
/// With fewer rows, transposing the keys costs more than it saves.
constexpr int64_t kTransposedRows = 8;

template <int kBytes>
ET_VECTOR_INLINE const typename RowVector<kBytes>::Floats& at(const float* place) {
  return *reinterpret_cast<const typename RowVector<kBytes>::Floats*>(place);
}

ET_VECTOR_INLINE float half_to_float(uint16_t half) {
  const uint32_t magnitude = uint32_t(half & 0x7FFF) << 13;
  const float scaled = kernels::bits_as<float>(magnitude) * 0x1p112f;
  uint32_t bits = kernels::bits_as<uint32_t>(scaled);
  bits = (half & 0x7C00) == 0x7C00 ? (bits | 0x7F800000u) : bits;
  return kernels::bits_as<float>(bits | (uint32_t(half & 0x8000) << 16));
}

/// One row of `tensor` as `padded` floats.
ET_VECTOR_INLINE void load_row(const AttentionTensor& tensor, int64_t batch, int64_t position,
                               int64_t head, int64_t channels, int64_t padded, float* to) {
  const int64_t first =
      batch * tensor.batch_stride + position * tensor.position_stride + head * tensor.head_stride;
  switch (tensor.type) {
    case AttentionType::Float:
      std::memcpy(to, static_cast<const float*>(tensor.data) + first, size_t(channels) * 4);
      break;
    case AttentionType::Half: {
      const uint16_t* const from = static_cast<const uint16_t*>(tensor.data) + first;
      for (int64_t i = 0; i < channels; ++i) to[i] = half_to_float(from[i]);
      break;
    }
    case AttentionType::BFloat16: {
      const uint16_t* const from = static_cast<const uint16_t*>(tensor.data) + first;
      for (int64_t i = 0; i < channels; ++i) {
        to[i] = kernels::bits_as<float>(uint32_t(from[i]) << 16);
      }
      break;
    }
    case AttentionType::Int8: {
      const int8_t* const from = static_cast<const int8_t*>(tensor.data) + first;
      const int64_t parameter = batch * tensor.parameter_batch_stride +
                                position * tensor.parameter_position_stride +
                                head * tensor.parameter_head_stride;
      const float scale = tensor.scales[parameter];
      const float zero = float(tensor.zero_points[parameter]);
      for (int64_t i = 0; i < channels; ++i) to[i] = (float(from[i]) - zero) * scale;
      break;
    }
  }
  for (int64_t i = channels; i < padded; ++i) to[i] = 0;
}

/// scores[row][key] = query[row] . key, one product at a time: for few rows.
template <int kBytes>
ET_VECTOR_INLINE void score_few(const float* queries, int64_t rows, const float* keys,
                                int64_t key_stride, int64_t count, int64_t padded, float* scores) {
  using V = typename RowVector<kBytes>::Floats;
  constexpr int64_t kCount = int64_t(RowVector<kBytes>::kCount);
  for (int64_t row = 0; row < rows; ++row) {
    const float* const query = queries + row * padded;
    for (int64_t key = 0; key < count; ++key) {
      const float* const other = keys + key * key_stride;
      V sum = {};
      V second = {};
      int64_t i = 0;
      for (; i + 2 * kCount <= padded; i += 2 * kCount) {
        sum += at<kBytes>(query + i) * at<kBytes>(other + i);
        second += at<kBytes>(query + i + kCount) * at<kBytes>(other + i + kCount);
      }
      for (; i < padded; i += kCount) sum += at<kBytes>(query + i) * at<kBytes>(other + i);
      const V both = sum + second;
      scores[row * kBlockKeys + key] = kernels::engine::sum_lanes<kBytes>(both);
    }
  }
}

/// `keys` as [channel][kBlockKeys]; absent keys are zeros.
ET_VECTOR_INLINE void transpose_keys(const float* keys, int64_t key_stride, int64_t count,
                                     int64_t padded, float* to) {
  for (int64_t channel = 0; channel < padded; ++channel) {
    float* const line = to + channel * kBlockKeys;
    for (int64_t key = 0; key < count; ++key) line[key] = keys[key * key_stride + channel];
    for (int64_t key = count; key < kBlockKeys; ++key) line[key] = 0;
  }
}

/// The same scores from transposed keys: kRows rows by two vectors of keys stay in registers.
template <int kBytes, int kRows>
ET_VECTOR_INLINE void score_tile(const float* queries, int64_t padded, const float* transposed,
                                 float* scores) {
  using V = typename RowVector<kBytes>::Floats;
  constexpr int64_t kCount = int64_t(RowVector<kBytes>::kCount);
  for (int64_t key = 0; key < kBlockKeys; key += 2 * kCount) {
    V sums[kRows][2] = {};
    for (int64_t i = 0; i < padded; ++i) {
      const V left = at<kBytes>(transposed + i * kBlockKeys + key);
      const V right = at<kBytes>(transposed + i * kBlockKeys + key + kCount);
      for (int row = 0; row < kRows; ++row) {
        const float query = queries[row * padded + i];
        sums[row][0] += query * left;
        sums[row][1] += query * right;
      }
    }
    for (int row = 0; row < kRows; ++row) {
      std::memcpy(scores + row * kBlockKeys + key, &sums[row][0], kBytes);
      std::memcpy(scores + row * kBlockKeys + key + kCount, &sums[row][1], kBytes);
    }
  }
}

/// results[row] += scores[row][0 … count) * values, kRows rows at a time.
template <int kBytes, int kRows>
ET_VECTOR_INLINE void add_values(const float* scores, const float* values, int64_t value_stride,
                                 int64_t count, int64_t padded, float* results) {
  using V = typename RowVector<kBytes>::Floats;
  constexpr int64_t kCount = int64_t(RowVector<kBytes>::kCount);
  constexpr int64_t kVectors = kRowAlignment * 4 == kBytes ? 1 : 2;
  for (int64_t i = 0; i < padded; i += kVectors * kCount) {
    V sums[kRows][kVectors];
    for (int row = 0; row < kRows; ++row) {
      for (int64_t v = 0; v < kVectors; ++v) {
        std::memcpy(&sums[row][v], results + row * padded + i + v * kCount, kBytes);
      }
    }
    for (int64_t key = 0; key < count; ++key) {
      V parts[kVectors];
      for (int64_t v = 0; v < kVectors; ++v) {
        parts[v] = at<kBytes>(values + key * value_stride + i + v * kCount);
      }
      for (int row = 0; row < kRows; ++row) {
        const float weight = scores[row * kBlockKeys + key];
        for (int64_t v = 0; v < kVectors; ++v) sums[row][v] += weight * parts[v];
      }
    }
    for (int row = 0; row < kRows; ++row) {
      for (int64_t v = 0; v < kVectors; ++v) {
        std::memcpy(results + row * padded + i + v * kCount, &sums[row][v], kBytes);
      }
    }
  }
}

}  // namespace
}  // namespace executorch::extension::llm
