# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""torchao's activation observers. Their messages name tensors without a range and with an infinite one."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
from torchao.quantization.pt2e import (  # type: ignore[import-untyped]
    FusedMovingAvgObsFakeQuantize,
    HistogramObserver,
)

Parameters = tuple[torch.Tensor, torch.Tensor]


class NotCalibrated(UserWarning):
    """The prepared model never ran, so that a tensor gets a scale of 1 and a zero point of 0."""


def _check_limits(observer: torch.nn.Module, low: torch.Tensor, high: torch.Tensor, what_to_run: str) -> None:
    place = getattr(observer, "place", "a tensor")
    if low.numel() == 0 or bool((low > high).all()):
        warnings.warn(
            f"{place} was never seen and gets a scale of 1, which rounds it to integers: run {what_to_run} before "
            "convert_pt2e",
            NotCalibrated,
            stacklevel=4,
        )
        return
    if not bool(torch.isfinite(low).all() and torch.isfinite(high).all()):
        raise ValueError(
            f"{place} ranges from {low.tolist()} to {high.tolist()}: no scale represents infinity or NaN. "
            "Remove the inputs that cause it, or keep the layer in float (set_module_name(name, None))"
        )


def _checked_parameters(
    observer: torch.nn.Module,
    limits: tuple[torch.Tensor, torch.Tensor],
    what_to_run: str,
    compute: Callable[[], Parameters],
) -> Parameters:
    """Return compute()'s scale and zero point after checking the lower and upper limits that an observer saw."""
    _check_limits(observer, *limits, what_to_run)
    with warnings.catch_warnings():
        # torchao's warning about default parameters does not name the tensor.
        warnings.filterwarnings("ignore", message="must run observer")
        return compute()


class CalibratedHistogramObserver(HistogramObserver):  # type: ignore[misc]
    """Range with the smallest squared error. Raises ValueError for infinity or NaN."""

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
        limits = (self.min_val, self.max_val)
        return _checked_parameters(self, limits, "the prepared model on calibration data", super().calculate_qparams)


class TrainedFakeQuantize(FusedMovingAvgObsFakeQuantize):  # type: ignore[misc]
    """Moving averages of minimum and maximum in training. Raises ValueError for infinity or NaN."""

    def calculate_qparams(self) -> Parameters:
        limits = (self.activation_post_process.min_val, self.activation_post_process.max_val)
        return _checked_parameters(self, limits, "the prepared model on training data", super().calculate_qparams)
