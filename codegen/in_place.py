# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Which kernels may have an operand and their result at the same place (``kernels/in_place.json``)."""

from __future__ import annotations

import json
from functools import cache

from executorch.codegen.source_table import KERNELS

_OWN = "executorch::kernels::"


@cache
def _table() -> dict[str, frozenset[str]]:
    table = json.loads((KERNELS / "in_place.json").read_text())
    return {name: frozenset(operators) for name, operators in table.items()}


def alias_options(operator: str, function: str) -> str:
    """The bits of ``Kernel::written_`` for a kernel, as C++; empty if any operand may be where the result is.

    A function outside of our libraries says nothing: it has to work in place as the program's compiler has it.
    """
    table = _table()
    if not function.startswith(_OWN) or operator in table["any operand"]:
        return ""
    first = " | Kernel::kDisjointButFirst" if operator in table["first operand"] else ""
    return f"Kernel::kDisjoint{first}"
