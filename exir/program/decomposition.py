# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""From ATen to Core ATen: one run of torch.export's decompositions, and ours where they cost too much."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
import torch._refs.linalg
from torch._ops import OpOverload
from torch.export import ExportedProgram

from executorch.exir.program.attention import ATTENTION_DECOMPOSITION

# Operators outside of Core ATen that PyTorch can say in terms of others, but does not by default.
_REFERENCES: dict[Any, Any] = {
    torch.ops.aten.linalg_vector_norm.default: torch._refs.linalg.vector_norm,
}


def decomposition_table(preserve: Iterable[OpOverload] = ()) -> dict[Any, Any]:
    """PyTorch's table to Core ATen with our decompositions in it, without the operators to preserve."""
    table = torch.export.default_decompositions()
    for op, decomposition in {**ATTENTION_DECOMPOSITION, **_REFERENCES}.items():
        table[op] = decomposition
    for op in preserve:
        table.pop(op, None)
    return table


def decompose(program: ExportedProgram, preserve: Iterable[OpOverload] = ()) -> ExportedProgram:
    """A new program of Core ATen operators and `preserve`; functional, with weights shared with `program`."""
    made: ExportedProgram = program.run_decompositions(decomposition_table(preserve))
    return made
