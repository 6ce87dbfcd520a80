# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""int8 configurations for XNNPACK: symmetric weights, per-tensor affine activations."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torchao.quantization.pt2e import (  # type: ignore[import-untyped]
    FakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    PerChannelMinMaxObserver,
    PlaceholderObserver,
)
from torchao.quantization.pt2e.quantizer import (  # type: ignore[import-untyped]
    QuantizationConfig,
    QuantizationSpec,
)

from executorch.backends.xnnpack.quantizer.observers import CalibratedHistogramObserver, TrainedFakeQuantize

_MIN_SCALE = 2**-12
_INT8 = torch.iinfo(torch.int8)


def _check_limits(kind: str, quant_min: int, quant_max: int) -> None:
    if not (_INT8.min <= quant_min < quant_max <= _INT8.max):
        raise ValueError(
            f"{kind}_qmin={quant_min} and {kind}_qmax={quant_max}: expected qmin < qmax, "
            f"both from {_INT8.min} to {_INT8.max}"
        )


def _activation(is_qat: bool, is_dynamic: bool, quant_min: int, quant_max: int) -> QuantizationSpec:
    observers = {
        (False, False): (CalibratedHistogramObserver, {}),
        (False, True): (PlaceholderObserver, {}),
        (True, False): (TrainedFakeQuantize, {}),
        (True, True): (FakeQuantize, {"observer": MovingAverageMinMaxObserver.with_args(averaging_constant=1)}),
    }
    observer, settings = observers[is_qat, is_dynamic]
    return QuantizationSpec(
        dtype=torch.int8,
        quant_min=quant_min,
        quant_max=quant_max,
        qscheme=torch.per_tensor_affine,
        is_dynamic=is_dynamic,
        observer_or_fake_quant_ctr=observer.with_args(eps=_MIN_SCALE, **settings),
    )


def _weight(is_qat: bool, is_per_channel: bool, quant_min: int, quant_max: int) -> QuantizationSpec:
    settings: dict[str, Any] = {}
    if is_qat:
        observer = FusedMovingAvgObsFakeQuantize
        settings["observer"] = MovingAveragePerChannelMinMaxObserver if is_per_channel else MovingAverageMinMaxObserver
    else:
        observer = PerChannelMinMaxObserver if is_per_channel else MinMaxObserver
    return QuantizationSpec(
        dtype=torch.int8,
        quant_min=quant_min,
        quant_max=quant_max,
        qscheme=torch.per_channel_symmetric if is_per_channel else torch.per_tensor_symmetric,
        ch_axis=0,
        is_dynamic=False,
        observer_or_fake_quant_ctr=observer.with_args(eps=_MIN_SCALE, **settings),
    )


@functools.lru_cache
def get_symmetric_quantization_config(
    is_per_channel: bool = False,
    is_qat: bool = False,
    is_dynamic: bool = False,
    act_qmin: int = -128,
    act_qmax: int = 127,
    weight_qmin: int = -127,
    weight_qmax: int = 127,
) -> QuantizationConfig:
    """Return the configuration of int8 quantization for a layer.

    is_per_channel: one scale for each output channel of the weights; else one for all.
    is_qat: for `prepare_qat_pt2e`; else for `prepare_pt2e`.
    is_dynamic: operands of linear layers and convolutions are quantized at run time, one scale for each row or image;
    other activations stay float.
    act_qmin, act_qmax, weight_qmin, weight_qmax: ranges of the integers. Weights of -8…7 or -7…7 are stored in four
    bits where XNNPACK supports it. Raises ValueError for a range outside int8 or with qmin >= qmax.
    """
    _check_limits("act", act_qmin, act_qmax)
    _check_limits("weight", weight_qmin, weight_qmax)
    activation = _activation(is_qat, is_dynamic, act_qmin, act_qmax)
    weight = _weight(is_qat, is_per_channel, weight_qmin, weight_qmax)
    return QuantizationConfig(activation, None if is_dynamic else activation, weight, None, is_qat)
