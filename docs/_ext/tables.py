# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Markdown tables of the generated pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; cells are one line, and a `|` in them is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines) + "\n"


def _cell(text: str) -> str:
    one_line = re.sub(r"\s+", " ", text).strip()
    return re.sub(r"(?<!\\)\|", r"\\|", one_line)


def code(text: str) -> str:
    """Return `text` as code, "" for nothing."""
    return f"`{text}`" if text else ""


def plain(text: str) -> str:
    """Return `text` with Markdown's special characters escaped."""
    return re.sub(r"([\\*_<>\[\]$])", r"\\\1", text)
