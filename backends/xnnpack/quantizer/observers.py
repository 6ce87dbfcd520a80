# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""torchao's activation observers that raise ValueError instead of returning parameters without data."""

from __future__ import annotations

import torch
from torchao.quantization.pt2e import (  # type: ignore[import-untyped]
    FusedMovingAvgObsFakeQuantize,
    HistogramObserver,
)

Parameters = tuple[torch.Tensor, torch.Tensor]


def _check_limits(observer: torch.nn.Module, low: torch.Tensor, high: torch.Tensor, what_to_run: str) -> None:
    place = getattr(observer, "place", "a tensor")
    if low.numel() == 0 or bool((low > high).all()):
        raise ValueError(f"{place} was never seen: run {what_to_run} before convert_pt2e")
    if not bool(torch.isfinite(low).all() and torch.isfinite(high).all()):
        raise ValueError(
            f"{place} ranges from {low.tolist()} to {high.tolist()}: no scale represents infinity or NaN. "
            "Remove the inputs that cause it, or keep the layer in float (set_module_name(name, None))"
        )


class CalibratedHistogramObserver(HistogramObserver):  # type: ignore[misc]
    """Range with the smallest squared error. Raises ValueError if the model never ran or met infinity or NaN."""

    def forward(self, x_orig: torch.Tensor) -> torch.Tensor:
        if not bool(torch.isfinite(x_orig).all()):
            place = getattr(self, "place", "a tensor")
            raise ValueError(
                f"{place} is infinite or NaN in the calibration data: no scale represents it. "
                "Remove the inputs that cause it, or keep the layer in float (set_module_name(name, None))"
            )
        seen: torch.Tensor = super().forward(x_orig)
        return seen

    def calculate_qparams(self) -> Parameters:
        _check_limits(self, self.min_val, self.max_val, "the prepared model on calibration data")
        parameters: Parameters = super().calculate_qparams()
        return parameters


class TrainedFakeQuantize(FusedMovingAvgObsFakeQuantize):  # type: ignore[misc]
    """Moving averages of minimum and maximum in training. Raises ValueError if the model never ran or met infinity or
    NaN.
    """

    def calculate_qparams(self) -> Parameters:
        seen = self.activation_post_process
        _check_limits(self, seen.min_val, seen.max_val, "the prepared model on training data")
        parameters: Parameters = super().calculate_qparams()
        return parameters
