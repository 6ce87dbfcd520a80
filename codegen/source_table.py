# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""kernels/sources.json: in which source file each of our kernels is, and what files a file refers to."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

KERNELS = Path(__file__).resolve().parent.parent / "kernels"
TABLE = KERNELS / "sources.json"
"""``kernels``: the source of each of our kernels, by its C++ name without ``NAMESPACE``; ``needs``: sources with what a
source refers to. Written by test/oracle/kernels/kernel_source_table.py from the built libraries."""

FOLDERS = ("portable", "quantized", "loops")
LIBRARIES = FOLDERS[:2]
NAMESPACE = "executorch::kernels::"


def all_sources() -> set[str]:
    """Paths below kernels/, of what the portable and quantized kernels are made of."""
    return {path.relative_to(KERNELS).as_posix() for folder in FOLDERS for path in (KERNELS / folder).rglob("*.cpp")}


def read_table(path: Path) -> dict[str, Any] | None:
    """None if the table is not of these sources: then it says nothing."""
    table: dict[str, Any] = json.loads(path.read_text())
    return table if table["needs"].keys() == all_sources() else None


def reached(table: dict[str, Any], sources: Iterable[str]) -> set[str]:
    """The sources, what they refer to, what those refer to, and so on."""
    found: set[str] = set()
    left = list(sources)
    while left:
        source = left.pop()
        if source not in found:
            found.add(source)
            left += table["needs"][source]
    return found
