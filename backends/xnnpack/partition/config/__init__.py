# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operators for `XnnpackPartitioner(configs=[...])`, under ExecuTorch's names.

Define a class for any other operator: `class Round(XNNPartitionerConfig): target_name = "round.default"`.
ExecuTorch's modules of these classes (`gemm_configs`, …) are registered as names of this one, for users' imports.
"""

from __future__ import annotations

import sys

from executorch.backends.xnnpack.partition.config.xnnpack_config import XNNPartitionerConfig


def _config(name: str, target_name: str) -> type[XNNPartitionerConfig]:
    return type(name, (XNNPartitionerConfig,), {"__module__": __name__, "target_name": target_name})


AbsConfig = _config("AbsConfig", "abs.default")
AddConfig = _config("AddConfig", "add.Tensor")
AddmmConfig = _config("AddmmConfig", "addmm.default")
AvgPoolingConfig = _config("AvgPoolingConfig", "avg_pool2d.default")
BMMConfig = _config("BMMConfig", "bmm.default")
BatchNormConfig = _config("BatchNormConfig", "_native_batch_norm_legit_no_training.default")
CatConfig = _config("CatConfig", "cat.default")
CeilConfig = _config("CeilConfig", "ceil.default")
ChooseQParamsAffineConfig = _config("ChooseQParamsAffineConfig", "choose_qparams_affine.default")
ClampConfig = _config("ClampConfig", "clamp.default")
CloneConfig = _config("CloneConfig", "clone.default")
CloneDimOrderConfig = _config("CloneDimOrderConfig", "_clone_dim_order.default")
ConstantPadConfig = _config("ConstantPadConfig", "constant_pad_nd.default")
ConvolutionConfig = _config("ConvolutionConfig", "convolution.default")
CosConfig = _config("CosConfig", "cos.default")
DeQuantizeAffineConfig = _config("DeQuantizeAffineConfig", "dequantize_affine.default")
DeQuantizedPerTensorConfig = _config("DeQuantizedPerTensorConfig", "dequantize_per_tensor.default")
DivConfig = _config("DivConfig", "div.Tensor")
EluConfig = _config("EluConfig", "elu.default")
ExpConfig = _config("ExpConfig", "exp.default")
FloorConfig = _config("FloorConfig", "floor.default")
GeluConfig = _config("GeluConfig", "gelu.default")
HardswishConfig = _config("HardswishConfig", "hardswish.default")
HardtanhConfig = _config("HardtanhConfig", "hardtanh.default")
LeakyReLUConfig = _config("LeakyReLUConfig", "leaky_relu.default")
LinearConfig = _config("LinearConfig", "linear.default")
LogConfig = _config("LogConfig", "log.default")
MMConfig = _config("MMConfig", "mm.default")
MaxDimConfig = _config("MaxDimConfig", "max.dim")
MaxPool2dConfig = _config("MaxPool2dConfig", "max_pool2d.default")
MaximumConfig = _config("MaximumConfig", "maximum.default")
MeanDimConfig = _config("MeanDimConfig", "mean.dim")
MinimumConfig = _config("MinimumConfig", "minimum.default")
MulConfig = _config("MulConfig", "mul.Tensor")
NegConfig = _config("NegConfig", "neg.default")
PermuteConfig = _config("PermuteConfig", "permute_copy.default")
PowConfig = _config("PowConfig", "pow.Tensor_Scalar")
PreluConfig = _config("PreluConfig", "prelu.default")
QuantizeAffineConfig = _config("QuantizeAffineConfig", "quantize_affine.default")
QuantizedPerTensorConfig = _config("QuantizedPerTensorConfig", "quantize_per_tensor.default")
ReLUConfig = _config("ReLUConfig", "relu.default")
ReciprocalSquareRootConfig = _config("ReciprocalSquareRootConfig", "rsqrt.default")
SigmoidConfig = _config("SigmoidConfig", "sigmoid.default")
SinConfig = _config("SinConfig", "sin.default")
SliceCopyConfig = _config("SliceCopyConfig", "slice_copy.Tensor")
SoftmaxConfig = _config("SoftmaxConfig", "_softmax.default")
SquareRootConfig = _config("SquareRootConfig", "sqrt.default")
SubConfig = _config("SubConfig", "sub.Tensor")
TanhConfig = _config("TanhConfig", "tanh.default")
ToDimOrderCopyConfig = _config("ToDimOrderCopyConfig", "_to_dim_order_copy.default")
UnsqueezeCopyConfig = _config("UnsqueezeCopyConfig", "unsqueeze_copy.default")
UpsampleBilinear2dConfig = _config("UpsampleBilinear2dConfig", "upsample_bilinear2d.vec")
ViewCopyConfig = _config("ViewCopyConfig", "view_copy.default")

ALL_PARTITIONER_CONFIGS: tuple[type[XNNPartitionerConfig], ...] = tuple(
    value for value in list(globals().values()) if isinstance(value, type) and value.__module__ == __name__
)

# Names of the base classes that users' configurations derive from.
GEMMConfig = GenericNodePartitionerConfig = QDQAffineConfigs = XNNPartitionerConfig

for _module in ("gemm_configs", "generic_node_configs", "node_configs", "quant_affine_configs"):
    sys.modules[f"{__name__}.{_module}"] = sys.modules[__name__]
