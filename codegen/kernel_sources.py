# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Which source files of kernels/ a selection of operators needs: the others need not be compiled for it."""

from __future__ import annotations

from executorch.codegen.binding import Library, choose, read_rows
from executorch.codegen.selection import Selection
from executorch.codegen.source_table import (
    FOLDERS,
    KERNELS,
    LIBRARIES,
    NAMESPACE,
    TABLE,
    all_sources,
    reached,
    read_table,
)

__all__ = ["FOLDERS", "KERNELS", "TABLE", "kernel_sources"]


def kernel_sources(selection: Selection) -> list[str]:
    """Paths below kernels/, sorted: what the portable and quantized kernels of the selection's operators are made of.

    A kernel that the table does not know may need any source, and so may all if the table is not of these sources.
    """
    table = read_table(TABLE)
    if table is None:
        return sorted(all_sources())
    used: set[str] = set()
    for library in LIBRARIES:
        rows = read_rows(Library(library, library, KERNELS / library / "functions.yaml"))
        chosen, _ = choose(rows, _without_wishes(selection), are_dtypes_selected=False)
        used |= {table["kernels"].get(row.function.removeprefix(NAMESPACE), "") for row in chosen}
    return sorted(all_sources() if "" in used else reached(table, used))


def _without_wishes(selection: Selection) -> Selection:
    """An operator that was asked for by name may be the other library's, or one of the user's own."""
    return Selection(dict.fromkeys(selection.operators, False), selection.include_all)
