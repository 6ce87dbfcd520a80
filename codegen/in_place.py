# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Kernels whose result may share memory with an operand (``kernels/in_place.json``)."""

from __future__ import annotations

import json
from functools import cache

from executorch.codegen.source_table import KERNELS

_OWN = ("executorch::kernels::", "executorch::native::", "llama::native::")


@cache
def _table() -> dict[str, frozenset[str]]:
    table = json.loads((KERNELS / "in_place.json").read_text())
    return {name: frozenset(operators) for name, operators in table.items()}


def alias_options(operator: str, function: str) -> str:
    """Return the bits of ``Kernel::written_`` for a kernel as C++; empty if any operand may share memory with the
    result.

    Also empty for functions outside our libraries: they must support every in-place use that the compiler plans.
    """
    table = _table()
    if not function.startswith(_OWN) or operator in table["any operand"]:
        return ""
    first = " | Kernel::kDisjointButFirst" if operator in table["first operand"] else ""
    return f"Kernel::kDisjoint{first}"
