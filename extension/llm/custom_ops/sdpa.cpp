// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The operators of attention: checks, then the engine's attend().
#include <cmath>

#include <executorch/extension/llm/custom_ops/NativeFunctions.h>
#include <executorch/extension/llm/custom_ops/check.h>
#include <executorch/kernels/engine/attention/attention.h>
#include <executorch/runtime/kernel/parallel.h>

namespace executorch::extension::llm {
namespace {

using aten::RuntimeContext;
using aten::ScalarType;
using aten::Tensor;
using kernels::ShapeText;
using kernels::engine::AttentionCall;
using kernels::engine::AttentionTensor;
using kernels::engine::AttentionType;

/// The runtime's threads, as the engine's interface.
class KernelThreads final : public kernels::engine::Threads {
 public:
  /// Uses at most `tasks` threads.
  explicit KernelThreads(size_t tasks) : count_(runtime::parallel_parts(tasks, 1)) {}
  size_t count() const override { return count_; }
  void run(size_t tasks, runtime::FunctionRef<void(size_t)> task) override {
    runtime::run_parallel(task, tasks);
  }

 private:
  const size_t count_;
};

/// Minimum number of multiplications for which starting threads saves time.
constexpr int64_t kMinThreadWork = 1 << 16;

bool type_of(ScalarType dtype, AttentionType* type) {
  switch (dtype) {
    case ScalarType::Float:
      *type = AttentionType::Float;
      return true;
    case ScalarType::Half:
      *type = AttentionType::Half;
      return true;
    case ScalarType::BFloat16:
      *type = AttentionType::BFloat16;
      return true;
    case ScalarType::Char:
      *type = AttentionType::Int8;
      return true;
    default:
      return false;
  }
}

/// Scales and zero points of an int8 tensor; null for others.
struct Parameters {
  const Tensor* zero_points = nullptr;
  const Tensor* scales = nullptr;
};

/// The dimensions of positions and heads: [batch, position, head, channel] or the two exchanged.
struct Layout {
  int position = 1, head = 2;
};

bool describe(RuntimeContext& ctx, const char* name, const Tensor& tensor, Layout layout,
              const Parameters& parameters, AttentionTensor* operand) {
  if (!expect_contiguous(ctx, name, tensor, 4) ||
      !ET_EXPECT(ctx, type_of(tensor.scalar_type(), &operand->type),
                 "%s: expected float32, float16, bfloat16 or int8, found %s", name,
                 runtime::toString(tensor.scalar_type()))) {
    return false;
  }
  const int64_t inner = tensor.size(3);
  const int64_t strides[] = {inner * tensor.size(2) * tensor.size(1), inner * tensor.size(2),
                             inner};
  operand->data = tensor.const_data_ptr();
  operand->batch_stride = strides[0];
  operand->position_stride = strides[layout.position];
  operand->head_stride = strides[layout.head];
  if (operand->type != AttentionType::Int8) return true;
  if (!ET_EXPECT(ctx, parameters.scales != nullptr && parameters.zero_points != nullptr,
                 "%s: int8 needs scales and zero points", name) ||
      !expect_contiguous(ctx, "scales", *parameters.scales, 4) ||
      !expect_contiguous(ctx, "zero points", *parameters.zero_points, 4) ||
      !kernels::expect_dtype(ctx, "scales", *parameters.scales, ScalarType::Float) ||
      !kernels::expect_dtype(ctx, "zero points", *parameters.zero_points, ScalarType::Char)) {
    return false;
  }
  for (const Tensor* parameter : {parameters.scales, parameters.zero_points}) {
    if (!ET_EXPECT(ctx,
                   parameter->size(0) == tensor.size(0) && parameter->size(1) == tensor.size(1) &&
                       parameter->size(2) == tensor.size(2) && parameter->size(3) == 1,
                   "%s: expected one scale and zero point for each row of %s, found %s", name,
                   ShapeText(tensor).text, ShapeText(*parameter).text)) {
      return false;
    }
  }
  operand->scales = parameters.scales->const_data_ptr<float>();
  operand->zero_points = parameters.zero_points->const_data_ptr<int8_t>();
  operand->parameter_batch_stride = strides[0] / (inner == 0 ? 1 : inner);
  operand->parameter_position_stride = strides[layout.position] / (inner == 0 ? 1 : inner);
  operand->parameter_head_stride = strides[layout.head] / (inner == 0 ? 1 : inner);
  return true;
}

/// Arguments that all of the operators have.
struct Arguments {
  const Tensor& query;
  const Tensor& key;
  const Tensor& value;
  int64_t start_pos;
  const std::optional<Tensor>& mask;
  double dropout;
  bool is_causal;
  std::optional<double> scale;
  Parameters query_parameters, key_parameters, value_parameters;
  Layout layout;
};

bool expect_mask(RuntimeContext& ctx, const Tensor& mask, int64_t queries, int64_t keys) {
  return expect_contiguous(ctx, "attn_mask", mask, 2) &&
         kernels::expect_dtype(ctx, "attn_mask", mask, ScalarType::Float) &&
         ET_EXPECT(ctx, mask.size(0) == queries && mask.size(1) == keys,
                   "attn_mask: expected [%" PRId64 ", %" PRId64
                   "], a row for each query and a column for each position of key, found %s",
                   queries, keys, ShapeText(mask).text);
}

bool prepare(RuntimeContext& ctx, const Arguments& given, AttentionCall* call) {
  if (!describe(ctx, "query", given.query, given.layout, given.query_parameters, &call->query) ||
      !describe(ctx, "key", given.key, given.layout, given.key_parameters, &call->key) ||
      !describe(ctx, "value", given.value, given.layout, given.value_parameters, &call->value)) {
    return false;
  }
  const int position = given.layout.position, head = given.layout.head;
  call->batch = given.query.size(0);
  call->queries = given.query.size(position);
  call->heads = given.query.size(head);
  call->channels = given.query.size(3);
  call->key_heads = given.key.size(head);
  const int64_t capacity = given.key.size(position);
  if (!ET_EXPECT(ctx,
                 given.key.size(0) >= call->batch && given.value.size(0) == given.key.size(0) &&
                     given.value.size(1) == given.key.size(1) &&
                     given.value.size(2) == given.key.size(2) &&
                     given.value.size(3) == call->channels && given.key.size(3) == call->channels,
                 "query, key and value: expected one batch, one number of channels, and key and "
                 "value of one shape, found %s, %s and %s",
                 ShapeText(given.query).text, ShapeText(given.key).text,
                 ShapeText(given.value).text) ||
      !ET_EXPECT(ctx, call->key_heads > 0 && call->heads % call->key_heads == 0,
                 "query: expected a multiple of the %" PRId64 " heads of key, found %" PRId64,
                 call->key_heads, call->heads) ||
      !ET_EXPECT(ctx, given.dropout == 0, "drpout_p: expected 0, found %g", given.dropout) ||
      !ET_EXPECT(ctx, !given.is_causal || !given.mask.has_value(),
                 "attn_mask and is_causal exclude each other") ||
      !expect_positions(ctx, given.start_pos, call->queries, capacity)) {
    return false;
  }
  call->keys = given.mask.has_value() ? capacity : given.start_pos + call->queries;
  call->is_causal = given.is_causal;
  call->first_position = given.start_pos;
  call->scale = float(given.scale.value_or(1 / std::sqrt(double(call->channels))));
  if (given.mask.has_value()) {
    if (!expect_mask(ctx, *given.mask, call->queries, capacity)) return false;
    call->mask = given.mask->const_data_ptr<float>();
    call->mask_stride = capacity;
  }
  return true;
}

}  // namespace

Tensor& sdpa(RuntimeContext& ctx, const Arguments& given, Tensor& out) {
  AttentionCall call;
  if (!prepare(ctx, given, &call) || !kernels::resize_like(ctx, out, given.query)) return out;
  AttentionTensor written;
  if (!describe(ctx, "out", out, given.layout, {}, &written) ||
      !ET_EXPECT(ctx, written.type != AttentionType::Int8, "out: expected floating point")) {
    return out;
  }
  call.out = out.mutable_data_ptr();
  call.out_type = written.type;
  call.out_batch_stride = written.batch_stride;
  call.out_position_stride = written.position_stride;
  call.out_head_stride = written.head_stride;
  if (out.numel() == 0) return out;
  const int64_t work = call.batch * call.queries * call.heads * call.keys * call.channels;
  KernelThreads threads(size_t(work / kMinThreadWork + 1));
  void* const scratch =
      kernels::allocate(ctx, kernels::engine::attention_scratch(call, threads.count()), 1);
  if (scratch != nullptr) kernels::engine::attend(call, threads, scratch);
  return out;
}

}  // namespace executorch::extension::llm

namespace llama::native {

namespace llm = executorch::extension::llm;
using executorch::aten::RuntimeContext;
using executorch::aten::Tensor;

Tensor& custom_sdpa_out(RuntimeContext& ctx, const Tensor& query, const Tensor& key,
                        const Tensor& value, int64_t start_pos,
                        const std::optional<Tensor>& attn_mask, double drpout_p, bool is_causal,
                        std::optional<double> scale, Tensor& out) {
  if (!llm::expect_same_or_reduced(ctx, "query", query, "key", key) ||
      !executorch::kernels::expect_same_dtype(ctx, "key", key, "value", value) ||
      !executorch::kernels::expect_same_dtype(ctx, "query", query, "out", out)) {
    return out;
  }
  return llm::sdpa(
      ctx, {query, key, value, start_pos, attn_mask, drpout_p, is_causal, scale, {}, {}, {}, {}},
      out);
}

Tensor& sdpa_with_kv_cache_out(RuntimeContext& ctx, const Tensor& query, const Tensor& key,
                               const Tensor& value, Tensor& key_cache, Tensor& value_cache,
                               int64_t start_pos, int64_t seq_len,
                               const std::optional<Tensor>& attn_mask, double drpout_p,
                               bool is_causal, std::optional<double> scale, Tensor& out) {
  if (!llm::expect_contiguous(ctx, "query", query, 4) ||
      !ET_EXPECT(ctx, seq_len == query.size(1),
                 "seq_len: expected the %zd positions of query, found %" PRId64,
                 ssize_t(query.size(1)), seq_len) ||
      !llm::expect_cache(ctx, value, value_cache) ||
      !llm::write_cache(ctx, key, key_cache, start_pos) ||
      !llm::write_cache(ctx, value, value_cache, start_pos)) {
    return out;
  }
  return custom_sdpa_out(ctx, query, key_cache, value_cache, start_pos, attn_mask, drpout_p,
                         is_causal, scale, out);
}

Tensor& custom_quantized_sdpa_out(
    RuntimeContext& ctx, const Tensor& query, const Tensor& key, const Tensor& value,
    int64_t start_pos, const std::optional<Tensor>& attn_mask, double drpout_p, bool is_causal,
    std::optional<double> scale, const std::optional<Tensor>& q_zero_points,
    const std::optional<Tensor>& q_scales, const std::optional<Tensor>& k_zero_points,
    const std::optional<Tensor>& k_scales, const std::optional<Tensor>& v_zero_points,
    const std::optional<Tensor>& v_scales, bool is_seq_at_dim_2, Tensor& out) {
  const auto pair = [](const std::optional<Tensor>& zero_points,
                       const std::optional<Tensor>& scales) {
    return llm::Parameters{zero_points.has_value() ? &*zero_points : nullptr,
                           scales.has_value() ? &*scales : nullptr};
  };
  const llm::Layout layout = is_seq_at_dim_2 ? llm::Layout{2, 1} : llm::Layout{};
  return llm::sdpa(ctx,
                   {query, key, value, start_pos, attn_mask, drpout_p, is_causal, scale,
                    pair(q_zero_points, q_scales), pair(k_zero_points, k_scales),
                    pair(v_zero_points, v_scales), layout},
                   out);
}

}  // namespace llama::native
