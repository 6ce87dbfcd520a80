# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Convert the project's docstrings, plain text with `code` in single backticks, to reStructuredText.

Sections (`Args:`, `Returns:`, `Raises:`, `Attributes:`) and descriptions of the form `name: text` become lists.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_SECTION = re.compile(r"^(Args|Returns|Raises|Attributes):\s*$")
_ITEM = re.compile(r"^(?P<names>[A-Za-z_][\w.]*(?:(?:, | / )[\w./]+)*): (?P<text>.+)$", re.S)
_RAISES = re.compile(r"(?<=\.) (?=Raises )")
_CODE = re.compile(r"(`+[^`\n]+`+)")
_OF_NAMED_TUPLE = "Alias for field number"  # Python's docstring of a field
_SPECIAL = re.compile(r"([\\*|]|_(?=\W|$))")


def to_rst(lines: list[str], names: Collection[str] = ()) -> list[str]:
    """Return a docstring as reStructuredText that parses without a warning.

    names: of parameters or fields. A sentence that begins with one of them and a colon describes it.
    """
    result: list[str] = []
    indent_of_items = 0
    for block in _blocks(lines):
        if _is_code(block):
            result += ["::", "", *("    " + line for line in block), ""]
            continue
        texts: list[str] = []
        for line in block:
            indent, text = len(line) - len(line.lstrip()), line.strip()
            if section := _SECTION.match(text):
                result += [*_rendered(texts, names), f"**{section[1]}**", ""]
                texts, indent_of_items = [], 4
            elif not texts or (_ITEM.match(text) and indent <= indent_of_items):
                texts.append(text)
            else:
                texts[-1] += " " + text
        result += _rendered(texts, names)
    return result


def _rendered(texts: list[str], names: Collection[str]) -> list[str]:
    parts = [part for text in texts for part in _sentences(text, names)]
    result: list[str] = []
    for part in parts:
        item = _ITEM.match(part)
        if result and result[-1].startswith("- ") is not bool(item):
            result.append("")
        result.append(f"- ``{item['names']}``: {_inline(item['text'])}" if item else _inline(part))
        if not item:
            result.append("")
    return [*result, ""] if result else []


def _sentences(text: str, names: Collection[str]) -> list[str]:
    """Split a paragraph before each sentence that describes one of the names, and after a description before Raises."""
    if not names:
        return [text]
    known = "|".join(map(re.escape, names))
    parts = re.split(rf"(?<=[.;)]) (?=(?:{known})(?:(?:, | / )(?:{known}))*: )", text)
    return [sentence for part in parts for sentence in (_RAISES.split(part) if _ITEM.match(part) else [part])]


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
    is_section = any(_SECTION.match(line.strip()) for line in block)
    return is_indented and not is_section and "(" in "".join(block)


def _inline(text: str) -> str:
    return "".join(
        f"``{part.strip('`')}``" if _CODE.fullmatch(part) else _SPECIAL.sub(r"\\\1", part.replace("`", "'"))
        for part in _CODE.split(text)
    )


def _names_of(obj: Any) -> set[str]:
    names = {field.name for field in dataclasses.fields(obj)} if dataclasses.is_dataclass(obj) else set()
    with contextlib.suppress(TypeError, ValueError):  # without a signature the names are unknown
        names |= set(inspect.signature(obj).parameters)
    return names


def _process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    written = [line for line in lines if not line.startswith(_OF_NAMED_TUPLE)]
    lines[:] = to_rst(written, _names_of(obj))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the conversion."""
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True}
