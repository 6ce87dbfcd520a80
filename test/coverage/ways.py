# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The ways to lower a model, by name: precision, partitioner, which functions of the public API."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import EdgeProgramManager, to_edge, to_edge_transform_and_lower
from test.oracle.tolerances import COVERED, COVERED_BFLOAT16, COVERED_HALF, COVERED_INT8


def _portable(program: ExportedProgram) -> EdgeProgramManager:
    return to_edge(program)


def _xnnpack(program: ExportedProgram) -> EdgeProgramManager:
    return to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])


def _xnnpack_older(program: ExportedProgram) -> EdgeProgramManager:
    return to_edge(program).to_backend(XnnpackPartitioner())


@dataclass(frozen=True)
class Way:
    """A way to lower a model, and the accuracy it must have.

    dtype: of weights and floating-point inputs. quantize: "static", "dynamic" or "". dynamic: which size of the
    arguments varies, "batch", "length" (of sequences) or "".
    bound: largest accepted difference from the reference, relative to the largest magnitude of the output. The
    reference is eager in float32, or eager on the quantized model. For half precision and dynamic scales, twice
    eager's own difference is added to the bound, at most MAX_SLACK.
    """

    lower: Callable[[ExportedProgram], EdgeProgramManager]
    dtype: torch.dtype = torch.float32
    quantize: str = ""
    dynamic: str = ""
    bound: float = COVERED


WAYS: dict[str, Way] = {
    "portable": Way(_portable),
    "xnnpack": Way(_xnnpack),
    "xnnpack_older_api": Way(_xnnpack_older),
    "xnnpack_dynamic": Way(_xnnpack, dynamic="batch"),
    "xnnpack_dynamic_length": Way(_xnnpack, dynamic="length"),
    "portable_dynamic_length": Way(_portable, dynamic="length"),
    "xnnpack_half": Way(_xnnpack, torch.float16, bound=COVERED_HALF),
    "xnnpack_bfloat16": Way(_xnnpack, torch.bfloat16, bound=COVERED_BFLOAT16),
    "xnnpack_int8_static": Way(_xnnpack, quantize="static", bound=COVERED_INT8),
    "xnnpack_int8_dynamic": Way(_xnnpack, quantize="dynamic", bound=COVERED_INT8),
}


def quantized(program: ExportedProgram, how: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.nn.Module:
    """The exported program's module, quantized to int8 by torchao with the backend's quantizer."""
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )

    quantizer = XNNPACKQuantizer()
    quantizer.set_global(get_symmetric_quantization_config(is_per_channel=True, is_dynamic=how == "dynamic"))
    prepared = prepare_pt2e(program.module(), quantizer)
    prepared(*args, **kwargs)
    return convert_pt2e(prepared)
