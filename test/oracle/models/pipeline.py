# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A module through the whole compiler and the runtime, to be compared with eager."""

from collections.abc import Sequence
from typing import Any

import torch
from oracle.tolerances import MODEL
from torch.utils import _pytree as pytree

from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from executorch.runtime import Runtime


def to_program(
    model: torch.nn.Module,
    inputs: Sequence[Any],
    dynamic_shapes: Any = None,
    edge: EdgeCompileConfig | None = None,
    backend: ExecutorchBackendConfig | None = None,
) -> bytes:
    """The bytes of the ``.pte`` program of ``model``."""
    exported = torch.export.export(model, tuple(inputs), dynamic_shapes=dynamic_shapes)
    return to_edge(exported, compile_config=edge).to_executorch(backend).buffer


def run(program: bytes, inputs: Sequence[Any], method: str = "forward") -> list[Any]:
    """The outputs of one call, flat."""
    return list(Runtime.get().load_program(program).load_method(method).execute(pytree.tree_leaves(tuple(inputs))))


def assert_matches_eager(
    model: torch.nn.Module, inputs: Sequence[Any], *more: Sequence[Any], atol: float = MODEL["atol"], **options: Any
) -> bytes:
    """Export with ``inputs``, run with them and with each of ``more``; every output is within ``atol`` of eager's."""
    program = to_program(model, inputs, **options)
    for arguments in (inputs, *more):
        with torch.no_grad():
            expected = pytree.tree_leaves(model(*arguments))
        found = run(program, arguments)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, atol=atol, rtol=0, equal_nan=True)
    return program
