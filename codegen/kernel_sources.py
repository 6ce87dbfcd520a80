# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Source files of kernels/ that a selection of operators needs."""

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
    """Return sorted paths below kernels/: the sources of the portable and quantized kernels of the selected operators.

    All sources if a kernel is missing from the table, or if the table belongs to other sources.
    """
    table = read_table(TABLE)
    if table is None:
        return sorted(all_sources())
    used: set[str] = set()
    for library in LIBRARIES:
        rows = read_rows(Library(library, library, KERNELS / library / "functions.yaml"))
        chosen, _ = choose(rows, _without_requests(selection), are_dtypes_selected=False)
        used |= {table["kernels"].get(row.function.removeprefix(NAMESPACE), "") for row in chosen}
    return sorted(all_sources() if "" in used else reached(table, used))


def _without_requests(selection: Selection) -> Selection:
    """Ignore unknown names: an operator requested by name may belong to the other library or to the user."""
    return Selection(dict.fromkeys(selection.operators, False), selection.include_all)
