# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Quantize before export with torchao: the model's source (`quantize_`), or its captured graph (PT2E)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torchao.quantization.pt2e.quantizer import Quantizer  # type: ignore[import-untyped]

    from executorch.export.recipe import AOQuantizationConfig

__all__ = ["quantize_pt2e", "quantize_source"]


def quantize_source(model: torch.nn.Module, configs: list[AOQuantizationConfig]) -> None:
    """Quantize the weights of `model` in place. Raises ValueError for several configs, which do not compose."""
    if len(configs) > 1:
        raise ValueError(f"expected one torchao quantization config, found {len(configs)}: they cannot be composed")
    from torchao.quantization import quantize_  # type: ignore[import-untyped]
    from torchao.utils import unwrap_tensor_subclass  # type: ignore[import-untyped]

    quantize_(model, configs[0].ao_base_config, configs[0].filter_fn)
    unwrap_tensor_subclass(model)


def quantize_pt2e(
    model: torch.nn.Module,
    quantizers: list[Quantizer],
    examples: list[tuple[Any, ...]],
    kwargs: dict[str, Any] | None = None,
    dynamic_shapes: Any | None = None,
) -> torch.fx.GraphModule:
    """Capture `model` with the first example, calibrate with all examples, and return the quantized graph.

    kwargs: keyword inputs of every example. dynamic_shapes: as in torch.export; the graph keeps these dimensions.
    Raises TypeError for a quantizer that is not torchao's.
    """
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e  # type: ignore[import-untyped]
    from torchao.quantization.pt2e.quantizer import ComposableQuantizer, Quantizer

    for quantizer in quantizers:
        if not isinstance(quantizer, Quantizer):
            raise TypeError(f"expected a torchao.quantization.pt2e Quantizer, found {type(quantizer).__name__}")
    captured = torch.export.export(model, examples[0], kwargs, dynamic_shapes=dynamic_shapes, strict=True).module()
    prepared = prepare_pt2e(captured, quantizers[0] if len(quantizers) == 1 else ComposableQuantizer(quantizers))
    for example in examples:
        prepared(*example, **(kwargs or {}))
    quantized: torch.fx.GraphModule = convert_pt2e(prepared)
    return quantized
