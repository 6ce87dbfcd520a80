# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""kernels/sources.json: the source file of each kernel, and the references between source files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

KERNELS = Path(__file__).resolve().parent.parent / "kernels"
TABLE = KERNELS / "sources.json"
"""Maps. ``kernels``: C++ name without ``NAMESPACE`` → source. ``needs``: source → sources to which it refers.
test/oracle/kernels/tables/kernel_source_table.py writes it from the built libraries.
"""

FOLDERS = ("portable", "quantized", "loops")
LIBRARIES = FOLDERS[:2]
NAMESPACE = "executorch::kernels::"


def all_sources() -> set[str]:
    """Paths below kernels/ of the sources of the portable and quantized kernels."""
    return {path.relative_to(KERNELS).as_posix() for folder in FOLDERS for path in (KERNELS / folder).rglob("*.cpp")}


def read_table(path: Path) -> dict[str, Any] | None:
    """Return the table; None if it does not match the sources."""
    table: dict[str, Any] = json.loads(path.read_text())
    return table if table["needs"].keys() == all_sources() else None


def reached(table: dict[str, Any], sources: Iterable[str]) -> set[str]:
    """The sources and all sources they refer to, transitively."""
    visited: set[str] = set()
    pending = list(sources)
    while pending:
        source = pending.pop()
        if source not in visited:
            visited.add(source)
            pending += table["needs"][source]
    return visited
