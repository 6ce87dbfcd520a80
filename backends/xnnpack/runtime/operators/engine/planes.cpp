// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Depthwise convolutions of float32 images in NCHW on the engine: nodes of fuse_planes().
#include <algorithm>

#include <executorch/backends/xnnpack/runtime/graph/convolution_params.h>
#include <executorch/backends/xnnpack/runtime/graph/passes.h>
#include <executorch/backends/xnnpack/runtime/operators/engine/engine_operator.h>
#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/kernels/engine/planes/planes.h>

namespace executorch::backends::xnnpack {

using runtime::Error;

namespace {

/// Identifies the packed form: windows of planes one after the other, then biases.
constexpr uint32_t kLayout = 0x4e414c50;

class PlaneConvolution final : public EngineOperator {
 public:
  PlaneConvolution(const Node& node, const OperatorContext& context)
      : EngineOperator("Convolution (NCHW, F32) DWConv", context),
        params_(convolution_params(node)) {
    call_.clamp_min = node.clamp.min;
    call_.clamp_max = node.clamp.max;
  }

  Error pack(const Node& node, const OperatorContext& context) {
    const Value& filter = context.graph.values[node.operand(1)];
    const Value* const bias =
        node.operand(2) == kNoValue ? nullptr : &context.graph.values[node.operand(2)];
    const size_t channels = params_.groups, taps = window_size();
    return packed_.create(
        context, kLayout, filter, bias, (taps + 1) * channels * sizeof(float), [&](float* to) {
          DelegateBlock storage;
          const float* const from = float_contents(context.graph, node.operand(1), &storage);
          if (from == nullptr) return false;
          for (size_t c = 0; c < channels; ++c) {
            for (size_t tap = 0; tap < taps; ++tap) {
              to[c * taps + tap] = from[tap * channels + c];
            }
          }
          float* const biases = to + taps * channels;
          if (bias == nullptr) {
            std::fill_n(biases, channels, 0.0f);
          } else {
            std::copy_n(static_cast<const float*>(bias->data), channels, biases);
          }
          return true;
        });
  }

  Error reshape(const Tensors& t) override {
    const Shape& x = *t.operands[0].shape;
    call_.batch = static_cast<size_t>(x.dims[0]);
    call_.input_size = {static_cast<size_t>(x.dims[2]), static_cast<size_t>(x.dims[3])};
    set_scratch(engine::planes_scratch_bytes(params_, call_.input_size, threads().count()));
    return Error::Ok;
  }

  Error run() override {
    call_.in = operand(0);
    call_.weights = packed_.data();
    call_.bias = packed_.data() + window_size() * params_.groups;
    call_.out = result();
    call_.scratch = scratch();
    engine::convolve_planes(params_, call_, threads());
    return Error::Ok;
  }

 private:
  size_t window_size() const { return params_.kernel_height * params_.kernel_width; }

  engine::Conv2dParams params_;
  engine::PlanesCall call_;
  PackedFloats packed_;
};

}  // namespace

OperatorResult create_planes(const Node& node, const OperatorContext& context) {
  auto created = std::make_unique<PlaneConvolution>(node, context);
  ET_CHECK_OK_OR_RETURN_ERROR(created->pack(node, context));
  return std::unique_ptr<Operator>(std::move(created));
}

}  // namespace executorch::backends::xnnpack
