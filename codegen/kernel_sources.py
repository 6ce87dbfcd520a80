# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Which source files of kernels/ a selection of operators needs: the others need not be compiled for it."""

from __future__ import annotations

import json

from executorch.codegen.binding import KERNELS, Library, choose, read_rows
from executorch.codegen.selection import Selection

TABLE = KERNELS / "sources.json"
"""``kernels``: the source of each of our kernels, by its C++ name without ``executorch::kernels::``; ``needs``: sources
with what a source refers to. Written by test/oracle/kernel_source_table.py from the built libraries."""

FOLDERS = ("portable", "quantized", "loops", "gemm", "recurrent", "spatial")
_LIBRARIES = FOLDERS[:2]
_NAMESPACE = "executorch::kernels::"


def kernel_sources(selection: Selection) -> list[str]:
    """Paths below kernels/, sorted: what the portable and quantized kernels of the selection's operators are made of.

    A kernel that the table does not know may need any source, and so may all if the table is not of these sources.
    """
    table = json.loads(TABLE.read_text())
    sources = {path.relative_to(KERNELS).as_posix() for folder in FOLDERS for path in (KERNELS / folder).rglob("*.cpp")}
    left: list[str] = [] if sources == table["needs"].keys() else [""]
    for library in _LIBRARIES:
        rows = read_rows(Library(library, library, KERNELS / library / "functions.yaml"))
        chosen, _ = choose(rows, _without_wishes(selection), frozenset())
        for row in chosen:
            left += [table["kernels"].get(row.function.removeprefix(_NAMESPACE), "")]
    if "" in left:
        return sorted(sources)
    needed: set[str] = set()
    while left:
        source = left.pop()
        if source not in needed:
            needed.add(source)
            left += table["needs"][source]
    return sorted(needed)


def _without_wishes(selection: Selection) -> Selection:
    """An operator that was asked for by name may be the other library's, or one of the user's own."""
    return Selection(dict.fromkeys(selection.operators, False), selection.include_all, selection.dtypes)
