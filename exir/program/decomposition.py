# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""From ATen to Core ATen: one run of torch.export's decompositions, and ours where they cost too much."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import torch
from torch._ops import OpOverload
from torch.export import ExportedProgram

from executorch.exir.program.attention import ATTENTION_DECOMPOSITION
from executorch.exir.program.beyond_core import decompositions_beyond_core


def decomposition_table(preserve: Iterable[OpOverload] = ()) -> dict[Any, Any]:
    """PyTorch's table to Core ATen with our decompositions in it, without the operators to preserve."""
    table = torch.export.default_decompositions()
    for op, decomposition in decompositions_beyond_core().items():
        if op not in table:
            table[op] = decomposition
    for op, decomposition in ATTENTION_DECOMPOSITION.items():
        table[op] = decomposition
    for op in preserve:
        table.pop(op, None)
    return table


def decompose(program: ExportedProgram, preserve: Iterable[OpOverload] = ()) -> ExportedProgram:
    """A new program of Core ATen operators and `preserve`; functional, with weights shared with `program`."""
    with warnings.catch_warnings():
        # PyTorch's own calls of its deprecated pytree test: nothing that a user could change.
        warnings.filterwarnings("ignore", message=r".*LeafSpec", category=FutureWarning)
        made: ExportedProgram = program.run_decompositions(decomposition_table(preserve))
    return made
