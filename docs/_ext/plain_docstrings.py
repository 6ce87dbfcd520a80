# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Read the project's docstrings as what they are: plain text with `code` in single backticks.

Sections (`Args:`, `Returns:`, `Raises:`, `Attributes:`) and lines of the form `name: text` become lists.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_SECTION = re.compile(r"^(Args|Returns|Raises|Attributes):\s*$")
_ITEM = re.compile(r"^(?P<names>[A-Za-z_][\w.]*(?:(?:, | / )[\w./]+)*): (?P<text>.+)$")
_CODE = re.compile(r"`+([^`\n]+)`+")
_SPECIAL = re.compile(r"([\\*|]|_(?=\W|$))")


def to_rst(lines: list[str]) -> list[str]:
    """Return a docstring as reStructuredText that parses without a warning."""
    result: list[str] = []
    items: list[str] = []

    def flush() -> None:
        result.extend([f"- {item}" for item in items])
        if items:
            result.append("")
        items.clear()

    base = 0
    for block in _blocks(lines):
        if _is_code(block):
            flush()
            result.extend(["::", "", *("    " + line for line in block), ""])
            continue
        for line in block:
            indent = len(line) - len(line.lstrip())
            text = line.strip()
            if section := _SECTION.match(text):
                flush()
                result.extend([f"**{section[1]}**", ""])
                base = 4
            elif (item := _ITEM.match(text)) and indent <= base and not text.startswith("http"):
                items.append(f"``{item['names']}``: {_inline(item['text'])}")
            elif items:
                items[-1] += " " + _inline(text)
            else:
                result.append(_inline(text))
        flush()
        result.append("")
    return result


def _blocks(lines: list[str]) -> list[list[str]]:
    blocks: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    return [block for block in blocks if block]


def _is_code(block: list[str]) -> bool:
    is_indented = all(line.startswith("    ") for line in block)
    return is_indented and not any(_SECTION.match(line.strip()) for line in block) and "(" in "".join(block)


def _inline(text: str) -> str:
    parts = re.split(r"(`+[^`\n]+`+)", text)
    return "".join(
        f"``{_CODE.fullmatch(part)[1]}``" if _CODE.fullmatch(part) else _SPECIAL.sub(r"\\\1", part.replace("`", "'"))
        for part in parts
    )


def _process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = to_rst(lines)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the conversion."""
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True}
