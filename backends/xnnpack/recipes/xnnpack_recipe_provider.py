# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Quantization of each XNNPACK recipe. All recipes delegate every operator that XNNPACK supports."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import torch

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.recipes.xnnpack_recipe_types import XNNPackRecipeType
from executorch.backends.xnnpack.utils.configs import (
    get_xnnpack_edge_compile_config,
    get_xnnpack_executorch_backend_config,
)
from executorch.export import (
    AOQuantizationConfig,
    BackendRecipeProvider,
    ExportRecipe,
    LoweringRecipe,
    QuantizationRecipe,
    RecipeType,
)

# is_per_channel, is_dynamic
_BY_QUANTIZER = {
    XNNPackRecipeType.PT2E_INT8_DYNAMIC_PER_CHANNEL: (True, True),
    XNNPackRecipeType.PT2E_INT8_STATIC_PER_CHANNEL: (True, False),
    XNNPackRecipeType.PT2E_INT8_STATIC_PER_TENSOR: (False, False),
}
_GROUPED = XNNPackRecipeType.TORCHAO_INT8_DYNAMIC_ACT_INT4_WEIGHT_PER_TENSOR
_GROUP_SIZE = 32
# Recipe → its parameter.
_KNOWN = {_GROUPED: "group_size", XNNPackRecipeType.BF16_COMPUTE: "max_error"}


class XNNPACKRecipeProvider(BackendRecipeProvider):
    """The recipes of `XNNPackRecipeType`."""

    @property
    def backend_name(self) -> str:
        return XNNPackRecipeType.get_backend_name()

    def get_supported_recipes(self) -> Sequence[RecipeType]:
        return list(XNNPackRecipeType)

    def create_recipe(self, recipe_type: RecipeType, **kwargs: Any) -> ExportRecipe | None:
        """Return the recipe of a type, or None for another backend's type.

        kwargs: `group_size`, for weights in groups; `max_error`, for products in bfloat16 (see XnnpackPartitioner).
        Others, which may be for another backend, are named in a warning. Raises ValueError unless both are positive,
        and group_size an integer.
        """
        if not isinstance(recipe_type, XNNPackRecipeType):
            return None
        unknown = sorted(set(kwargs) - {_KNOWN.get(recipe_type)})
        if unknown:
            logging.warning("XNNPACK's recipe %s does not take %s: ignored", recipe_type.value, ", ".join(unknown))
        if recipe_type is XNNPackRecipeType.BF16_COMPUTE:
            partitioner = XnnpackPartitioner(compute_precision="bf16", max_error=kwargs.get("max_error"))
        else:
            partitioner = XnnpackPartitioner()
        lowering = LoweringRecipe([partitioner], edge_compile_config=get_xnnpack_edge_compile_config())
        return ExportRecipe(
            name=recipe_type.value,
            quantization_recipe=_quantization(recipe_type, kwargs.get("group_size", _GROUP_SIZE)),
            lowering_recipe=lowering,
            executorch_backend_config=get_xnnpack_executorch_backend_config(),
        )


def _quantization(recipe_type: XNNPackRecipeType, group_size: Any) -> QuantizationRecipe | None:
    if recipe_type in (XNNPackRecipeType.FP32, XNNPackRecipeType.BF16_COMPUTE):
        return None
    if recipe_type in _BY_QUANTIZER:
        return _by_quantizer(*_BY_QUANTIZER[recipe_type])
    return _four_bits(group_size if recipe_type is _GROUPED else None)


def _by_quantizer(is_per_channel: bool, is_dynamic: bool) -> QuantizationRecipe:
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (  # importing torchao takes seconds
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )

    config = get_symmetric_quantization_config(is_per_channel=is_per_channel, is_dynamic=is_dynamic)
    return QuantizationRecipe(quantizers=[XNNPACKQuantizer(strict=True).set_global(config)])


def _four_bits(group_size: Any) -> QuantizationRecipe:
    from torchao.quantization.granularity import PerAxis, PerGroup  # type: ignore[import-untyped]
    from torchao.quantization.quant_api import (  # type: ignore[import-untyped]
        Int8DynamicActivationIntxWeightConfig,
    )

    if group_size is not None and (type(group_size) is not int or group_size < 1):
        raise ValueError(f"group_size must be a positive integer, found {group_size!r}")
    granularity = PerAxis(0) if group_size is None else PerGroup(group_size)
    four_bits: torch.dtype = torch.int4  # type: ignore[attr-defined]  # missing from torch's annotations
    config = Int8DynamicActivationIntxWeightConfig(weight_dtype=four_bits, weight_granularity=granularity)
    return QuantizationRecipe(ao_quantization_configs=[AOQuantizationConfig(config)])


__all__ = ["XNNPACKRecipeProvider"]
