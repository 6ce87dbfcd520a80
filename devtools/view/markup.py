# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Building blocks of a report's sections: formatted numbers, colours, tables, bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import floor

_MAX_COLOURS = 12
OTHERS = "#9aa1ad"


@dataclass(frozen=True)
class Cell:
    """A table's cell. kind: "n" for numbers, "code" for names. share: length of a bar in the cell, 0 to 1. bad: draw
    the bar in the warning colour.
    """

    text: str
    kind: str = ""
    share: float | None = None
    bad: bool = False
    title: str = ""


def milliseconds(time: float) -> str:
    """Format a time in ms with three digits, in µs or s if that is shorter."""
    for unit, size in (("s", 1e3), ("ms", 1.0), ("µs", 1e-3)):
        if time >= 0.9995 * size:
            return f"{time / size:#.3g} {unit}".replace(". ", " ")
    return f"{1000 * time:.2f} µs" if time > 0 else "0"


def path_text(module: str | None) -> str:
    """Format a module's path; "" is the model itself, None is unknown."""
    return "" if module is None else module or "(the model)"


def byte_count(count: float) -> str:
    """Format bytes in B, KiB, MiB or GiB."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def percent(share: float) -> str:
    """Format a percentage with one decimal, rounded down."""
    return "< 0.1 %" if 0 < share < 0.001 else f"{floor(1000 * share + 1e-9) / 10:.1f} %"


def colours_of(names: Iterable[str]) -> dict[str, str]:
    """Name → colour with readable black text, for the first names; grey for the others."""
    distinct = list(dict.fromkeys(names))
    return {
        name: f"hsl({round(215 + index * 137.5) % 360} 62% {72 - 9 * (index % 2)}%)" if index < _MAX_COLOURS else OTHERS
        for index, name in enumerate(distinct)
    }


def table(
    headers: Sequence[str], rows: Iterable[Sequence[Cell]], *, max_rows: int | None = None, title: str = ""
) -> str:
    """Return a table. Rows beyond `max_rows` are folded; title: plural noun of the rows, for the summary line."""
    listed = [list(row) for row in rows]
    cells = ["<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in listed]
    kinds = [cell.kind for cell in listed[0]] if listed else [""] * len(headers)
    head = "".join(f'<th class="{kind}">{escape(header)}</th>' for header, kind in zip(headers, kinds, strict=True))
    shown, hidden = (cells, []) if max_rows is None else (cells[:max_rows], cells[max_rows:])
    text = f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(shown)}</tbody></table></div>'
    if hidden:
        text += (
            f"<details><summary>{len(hidden)} more {escape(title)}</summary>"
            f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(hidden)}</tbody></table></div>'
            "</details>"
        )
    return text


def legend(entries: Iterable[tuple[str, str]]) -> str:
    """Return a legend of (colour, text) pairs."""
    items = "".join(f'<span><i style="background:{colour}"></i>{escape(text)}</span>' for colour, text in entries)
    return f'<p class="legend">{items}</p>'


def _cell(cell: Cell) -> str:
    title = f' title="{escape(cell.title)}"' if cell.title else ""
    text = escape(cell.text)
    if cell.share is not None:
        width = 100 * max(0.0, min(1.0, cell.share))
        kind = "bar bad" if cell.bad else "bar"
        text = f'<span class="{kind}"><b style="width:{width:.1f}%"></b></span><span>{text}</span>'
        return f'<td class="share"{title}><div>{text}</div></td>'
    return f'<td class="{cell.kind}{" bad" if cell.bad else ""}"{title}>{text}</td>'
