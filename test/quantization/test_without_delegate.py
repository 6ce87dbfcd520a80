# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Quantized models run with only the kernels, and match eager."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from quantization.flow import quantized, run, sqnr
from quantization.test_quantizer import Images, images

from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.codegen.binding import KERNELS
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.error import VerificationError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:torchao.*", "ignore::DeprecationWarning")


@pytest.mark.parametrize("is_dynamic", [False, True])
def test_a_quantized_model_runs_as_in_eager(is_dynamic: bool) -> None:
    torch.manual_seed(0)
    config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=is_dynamic)
    converted = quantized(Images(), XNNPACKQuantizer().set_global(config), images())
    edge = to_edge(torch.export.export(converted, images()[0]))
    # Not to the bit: sums in another order may round to a neighboring integer.
    assert sqnr(converted(*images()[0]), run(edge, images()[0])) > 40


def test_a_target_without_quantized_kernels_is_reported_at_export() -> None:
    config = get_symmetric_quantization_config()
    model, x = torch.nn.Linear(4, 4), (torch.randn(2, 4),)
    edge = to_edge(torch.export.export(quantized(model, XNNPACKQuantizer().set_global(config), [x]), x))
    portable: Path = KERNELS / "portable" / "functions.yaml"
    with pytest.raises(VerificationError, match=r"no kernel for quantized_decomposed::quantize_per_tensor\.out"):
        edge.to_executorch(ExecutorchBackendConfig(target_manifest=portable))
