// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The gated delta rule: linear attention with a state [channels of keys, channels of values] for
// each head, as in Gated DeltaNet and Kimi Delta Attention. For each position
//
//   state = decay * state
//   state = state + key x beta * (value - key * state)
//   out = query * state
#include <algorithm>
#include <cstdint>
#include <cstring>

#include <executorch/extension/llm/custom_ops/NativeFunctions.h>
#include <executorch/extension/llm/custom_ops/check.h>
#include <executorch/kernels/loops/memory/divide.h>

namespace llama::native {

using executorch::aten::RuntimeContext;
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::kernels::ShapeText;

namespace {

/// Channels of values that are computed together: their sums stay in the first-level cache.
constexpr int64_t kBlock = 64;

struct Sizes {
  int64_t positions, key_channels, value_channels;
};

/// Pointers to one head's elements, or to those of some of its values' channels.
struct Head {
  const float *query, *key, *value, *decay, *beta;
  float *state, *out;
};

/// One position of at most kBlock channels of values.
void step(const Head& at, const Sizes& sizes, int64_t width, int64_t decay_stride) {
  float deltas[kBlock] = {}, sums[kBlock] = {};
  const int64_t stride = sizes.value_channels;
  for (int64_t k = 0; k < sizes.key_channels; ++k) {
    float* const row = at.state + k * stride;
    const float decay = at.decay[k * decay_stride], key = at.key[k];
    for (int64_t v = 0; v < width; ++v) {
      row[v] *= decay;
      deltas[v] += row[v] * key;
    }
  }
  for (int64_t v = 0; v < width; ++v) deltas[v] = (at.value[v] - deltas[v]) * *at.beta;
  for (int64_t k = 0; k < sizes.key_channels; ++k) {
    float* const row = at.state + k * stride;
    const float key = at.key[k], query = at.query[k];
    for (int64_t v = 0; v < width; ++v) {
      row[v] += key * deltas[v];
      sums[v] += row[v] * query;
    }
  }
  for (int64_t v = 0; v < width; ++v) at.out[v] = sums[v];
}

/// All positions of one head. The channels of values are independent of each other.
void run_head(const Head& head, const Sizes& sizes, bool is_channelwise) {
  for (int64_t first = 0; first < sizes.value_channels; first += kBlock) {
    const int64_t width = std::min(kBlock, sizes.value_channels - first);
    Head at = head;
    at.value += first;
    at.state += first;
    at.out += first;
    for (int64_t i = 0; i < sizes.positions; ++i) {
      step(at, sizes, width, is_channelwise ? 1 : 0);
      at.query += sizes.key_channels;
      at.key += sizes.key_channels;
      at.value += sizes.value_channels;
      at.decay += is_channelwise ? sizes.key_channels : 1;
      at.beta += 1;
      at.out += sizes.value_channels;
    }
  }
}

bool expect_floats(RuntimeContext& ctx, const char* name, const Tensor& tensor, int rank) {
  return executorch::extension::llm::expect_contiguous(ctx, name, tensor, rank) &&
         executorch::kernels::expect_dtype(ctx, name, tensor, ScalarType::Float);
}

/// True if `a` and `b` agree in their leading `count` sizes.
bool have_equal_leading_dims(const Tensor& a, const Tensor& b, int count) {
  return std::equal(a.sizes().begin(), a.sizes().begin() + count, b.sizes().begin());
}

bool expect_operands(RuntimeContext& ctx, const Tensor& query, const Tensor& key,
                     const Tensor& value, const Tensor& decay, const Tensor& beta,
                     const Tensor& state) {
  return expect_floats(ctx, "query", query, 4) && expect_floats(ctx, "key", key, 4) &&
         expect_floats(ctx, "value", value, 4) &&
         expect_floats(ctx, "decay", decay, int(decay.dim())) &&
         expect_floats(ctx, "beta", beta, 3) && expect_floats(ctx, "initial_state", state, 4) &&
         ET_EXPECT(ctx,
                   have_equal_leading_dims(query, key, 4) &&
                       have_equal_leading_dims(query, value, 3) &&
                       have_equal_leading_dims(query, beta, 3) &&
                       have_equal_leading_dims(query, decay, int(decay.dim())),
                   "expected query, key, value, decay and beta of one batch, one number of heads "
                   "and of positions, and one number of channels of query, key and a decay by "
                   "channels, found %s, %s, %s, %s and %s",
                   ShapeText(query).text, ShapeText(key).text, ShapeText(value).text,
                   ShapeText(decay).text, ShapeText(beta).text) &&
         ET_EXPECT(ctx,
                   have_equal_leading_dims(query, state, 2) && state.size(2) == query.size(3) &&
                       state.size(3) == value.size(3),
                   "initial_state: expected [batch, heads, channels of key, channels of value], "
                   "found %s",
                   ShapeText(state).text);
}

}  // namespace

std::tuple<Tensor&, Tensor&> gated_delta_rule_out(RuntimeContext& ctx, const Tensor& query,
                                                  const Tensor& key, const Tensor& value,
                                                  const Tensor& decay, const Tensor& beta,
                                                  const Tensor& initial_state, Tensor& out,
                                                  Tensor& final_state_out) {
  const std::tuple<Tensor&, Tensor&> results{out, final_state_out};
  if (!ET_EXPECT(ctx, decay.dim() == 3 || decay.dim() == 4,
                 "decay: expected [batch, heads, positions] or one more dimension with the "
                 "channels of key, found %s",
                 ShapeText(decay).text) ||
      !expect_operands(ctx, query, key, value, decay, beta, initial_state) ||
      !expect_floats(ctx, "out", out, 4) ||
      !expect_floats(ctx, "final_state_out", final_state_out, 4) ||
      !executorch::kernels::resize_like(ctx, out, value) ||
      !executorch::kernels::resize_like(ctx, final_state_out, initial_state)) {
    return results;
  }
  float* const states = final_state_out.mutable_data_ptr<float>();
  if (initial_state.numel() != 0) {
    std::memmove(states, initial_state.const_data_ptr(), initial_state.nbytes());
  }
  if (value.numel() == 0) return results;
  const Sizes sizes{query.size(2), query.size(3), value.size(3)};
  const int64_t heads = int64_t(query.size(0)) * query.size(1);
  const bool is_channelwise = decay.dim() == 4;
  const int64_t keys = sizes.positions * sizes.key_channels;
  const int64_t values = sizes.positions * sizes.value_channels;
  const executorch::kernels::Division division(
      heads, 1, heads * std::max<int64_t>(keys, 1) * sizes.value_channels);
  division.run([&](int64_t, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Head head{query.const_data_ptr<float>() + i * keys,
                      key.const_data_ptr<float>() + i * keys,
                      value.const_data_ptr<float>() + i * values,
                      decay.const_data_ptr<float>() + i * (is_channelwise ? keys : sizes.positions),
                      beta.const_data_ptr<float>() + i * sizes.positions,
                      states + i * sizes.key_channels * sizes.value_channels,
                      out.mutable_data_ptr<float>() + i * values};
      run_head(head, sizes, is_channelwise);
    }
  });
  return results;
}

std::tuple<Tensor&, Tensor&> channelwise_gated_delta_rule_out(
    RuntimeContext& ctx, const Tensor& query, const Tensor& key, const Tensor& value,
    const Tensor& decay, const Tensor& beta, const Tensor& initial_state, Tensor& out,
    Tensor& final_state_out) {
  if (!expect_floats(ctx, "decay", decay, 4)) return {out, final_state_out};
  return gated_delta_rule_out(ctx, query, key, value, decay, beta, initial_state, out,
                              final_state_out);
}

}  // namespace llama::native
