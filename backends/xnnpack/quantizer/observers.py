# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""torchao's activation observers that name their tensor if they met no data, infinity or NaN."""

from __future__ import annotations

import warnings

import torch
from torchao.quantization.pt2e import (  # type: ignore[import-untyped]
    FusedMovingAvgObsFakeQuantize,
    HistogramObserver,
)

Parameters = tuple[torch.Tensor, torch.Tensor]


def _met_data(observer: torch.nn.Module, low: torch.Tensor, high: torch.Tensor, what_to_run: str) -> bool:
    """Return whether the observer met data. Raises ValueError for infinity and NaN."""
    place = getattr(observer, "place", "a tensor")
    if low.numel() == 0 or bool((low > high).all()):
        why = f"{place} was never seen: run {what_to_run} before convert_pt2e"
        if getattr(observer, "strict", False):
            raise ValueError(why)
        warnings.warn(f"{why}; its scale is 1", UserWarning, stacklevel=3)
        return False
    if not bool(torch.isfinite(low).all() and torch.isfinite(high).all()):
        raise ValueError(
            f"{place} ranges from {low.tolist()} to {high.tolist()}: no scale represents infinity or NaN. "
            "Remove the inputs that cause it, or keep the layer in float (set_module_name(name, None))"
        )
    return True


def _default_parameters(like: torch.Tensor) -> Parameters:
    return torch.ones(1, device=like.device), torch.zeros(1, dtype=torch.int64, device=like.device)


class CalibratedHistogramObserver(HistogramObserver):  # type: ignore[misc]
    """Range with the smallest squared error. Raises ValueError if the model met infinity or NaN; warns if it never ran.

    strict: a model that never ran raises ValueError too. The quantizer sets it.
    """

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
        if not _met_data(self, self.min_val, self.max_val, "the prepared model on calibration data"):
            return _default_parameters(self.min_val)
        parameters: Parameters = super().calculate_qparams()
        return parameters


class TrainedFakeQuantize(FusedMovingAvgObsFakeQuantize):  # type: ignore[misc]
    """Moving averages of minimum and maximum in training. Errors and `strict` as in `CalibratedHistogramObserver`."""

    def calculate_qparams(self) -> Parameters:
        seen = self.activation_post_process
        if not _met_data(self, seen.min_val, seen.max_val, "the prepared model on training data"):
            return _default_parameters(seen.min_val)
        parameters: Parameters = super().calculate_qparams()
        return parameters
