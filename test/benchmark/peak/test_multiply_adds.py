# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The bare multiply-add instructions beside the benchmark's engines."""

from __future__ import annotations

import platform

import pytest
import torch

from ..engine_process import ENGINES, PRECISIONS, with_peaks
from ..engine_report import Measurement, share_of_peak
from .multiply_adds import NoPeakError, instruction_name, multiply_adds, product_operations


def test_operations_of_a_linear_layer_are_two_for_each_weight_and_row() -> None:
    assert product_operations(torch.nn.Linear(24, 40), (torch.ones(3, 24),)) == 2 * 3 * 24 * 40


def test_operations_of_a_recurrent_layer_count_each_step() -> None:
    layer, steps = torch.nn.LSTM(16, 8), 5
    assert product_operations(layer, (torch.ones(steps, 2, 16),)) == 2 * steps * 2 * 4 * 8 * (16 + 8)


def test_operations_of_a_depthwise_convolution_count_one_input_for_each_output() -> None:
    convolution = torch.nn.Conv2d(6, 6, 3, padding=1, groups=6)
    assert product_operations(convolution, (torch.ones(1, 6, 10, 12),)) == 2 * 6 * 10 * 12 * 9


@pytest.mark.skipif(platform.machine() != "x86_64", reason="instructions of x86-64")
@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
def test_each_precision_has_an_instruction_that_runs_on_any_number_of_threads(precision: str) -> None:
    assert instruction_name(precision)
    for threads in (1, 2):
        multiply_adds(precision, 1e6, threads)()


def test_a_precision_without_instructions_is_refused() -> None:
    with pytest.raises(NoPeakError, match="no instruction is known for fp8"):
        multiply_adds("fp8", 1, 1)


def test_each_precision_of_the_engines_has_one_peak() -> None:
    engines = [ENGINES["ours"], ENGINES["peer"], *PRECISIONS["int8"]]
    assert [engine.name for engine in with_peaks(engines)][len(engines) :] == ["peak-fp32", "peak-int8"]


def test_the_share_is_of_the_peak_in_the_precision_of_the_engines_products() -> None:
    def measured(engine: str, products: str, *times: float) -> Measurement:
        return Measurement("model", 1, engine, products, times, {})

    ours = measured("ours-int8", "int8", 2, 4, 8)
    found = [ours, measured("peak-fp32", "fp32", 7, 7, 7), measured("peak-int8", "int8", 1, 1, 1)]
    assert share_of_peak(found, ours) == 0.25
    assert share_of_peak(found[:2], ours) is None
