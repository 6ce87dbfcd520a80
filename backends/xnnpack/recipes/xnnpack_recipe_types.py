# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Names of XNNPACK's recipes."""

from __future__ import annotations

from executorch.export import RecipeType


class XNNPackRecipeType(RecipeType):
    """Quantization of weights and activations before delegation."""

    FP32 = "xnnpack_fp32"
    BF16_COMPUTE = "xnnpack_bf16_compute"
    """No quantization; products of float32 may round their factors to bfloat16; parameter max_error."""
    PT2E_INT8_DYNAMIC_PER_CHANNEL = "xnnpack_pt2e_int8_dynamic_per_channel"
    """int8 weights with one scale for each channel; activations are quantized at run time."""
    PT2E_INT8_STATIC_PER_CHANNEL = "xnnpack_pt2e_int8_static_per_channel"
    """int8 weights and activations, calibrated with the example inputs."""
    PT2E_INT8_STATIC_PER_TENSOR = "xnnpack_pt2e_int8_static_per_tensor"
    TORCHAO_INT8_DYNAMIC_ACT_INT4_WEIGHT_PER_CHANNEL = "xnnpack_torchao_int8da_int4w_per_channel"
    """4-bit weights of linear layers, one scale for each channel."""
    TORCHAO_INT8_DYNAMIC_ACT_INT4_WEIGHT_PER_TENSOR = "xnnpack_torchao_int8da_int4w_per_tensor"
    """4-bit weights of linear layers, one scale for each group of a row; parameter group_size (32)."""

    @classmethod
    def get_backend_name(cls) -> str:
        return "xnnpack"


__all__ = ["XNNPackRecipeType"]
