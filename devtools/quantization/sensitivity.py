# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Keep the most sensitive layers in float until the quantized model meets an SQNR budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule

from executorch.devtools.quantization.noise import inputs_of_calls
from executorch.devtools.quantization.report import QuantizationReport, quantization_report


@dataclass(frozen=True)
class Sensitivity:
    """Layers to leave in float, and the model quantized without them.

    left_in_float: module paths, in the order of exclusion. report: of the final model, `quantized`.
    """

    left_in_float: tuple[str, ...]
    report: QuantizationReport
    quantized: GraphModule


def leave_sensitive_layers_in_float(
    model: torch.nn.Module,
    make_quantizer: Callable[[], Any],
    data: Sequence[Sequence[torch.Tensor]],
    budget: float,
    at_once: int = 1,
    reference: torch.nn.Module | None = None,
) -> Sensitivity:
    """Quantize repeatedly, each time without the layers of lowest SQNR, until the result's SQNR reaches `budget` dB.

    make_quantizer: returns a new quantizer that supports `set_module_name(name, None)`, configured for the whole model.
    data: inputs for calibration and measurement. at_once: layers to exclude in each round. reference: the float model
    to measure against if torchao's `quantize_` already changed `model`; such layers stay quantized. Raises ValueError
    if the budget is not met although no layer is left to the quantizer, TypeError for bare tensors.
    """
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e  # type: ignore[import-untyped]

    model.eval()
    calls = inputs_of_calls(data)
    exact = model if reference is None else reference.eval()
    captured: Any = torch.export.export(exact, calls[0]).module()
    left: list[str] = []
    report: QuantizationReport | None = None
    while True:
        quantizer = make_quantizer()
        for name in left:
            quantizer.set_module_name(name, None)
        try:
            prepared = prepare_pt2e(torch.export.export(model, calls[0]).module(), quantizer)
        except ValueError as error:  # the quantizer raises it if no layer is left
            if report is None:
                raise
            raise _unreachable(report, budget) from error
        for inputs in calls:
            prepared(*inputs)
        quantized = convert_pt2e(prepared)
        report = quantization_report(captured, quantized, calls)
        if report.sqnr >= budget:
            return Sensitivity(tuple(left), report, quantized)
        candidates = sorted((layer for layer in report.layers if layer.scheme != "float"), key=lambda layer: layer.sqnr)
        names = [name for name in dict.fromkeys(candidate.layer for candidate in candidates) if name not in left]
        if not names:
            raise _unreachable(report, budget)
        left += names[:at_once]


def _unreachable(report: QuantizationReport, budget: float) -> ValueError:
    return ValueError(f"SQNR is {report.sqnr:.1f} dB with no layer left to exclude, expected {budget} dB: {report}")
