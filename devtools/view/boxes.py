# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Draw a graph as SVG: values flow downwards, and each call or delegate is a box.

x ─▶ [XnnpackBackend: 12 operators] ─▶ [aten.sort] ─▶ output
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeVar

import torch
from torch.fx import Graph, Node

__all__ = ["Box", "describe_value", "draw_boxes", "draw_graph"]

Key = TypeVar("Key", bound=Hashable)

_WIDTH, _HEIGHT, _GAP, _STEP, _MARGIN = 190, 34, 18, 66, 12
# CSS variables let the surrounding page set the colours of edges and background.
_STYLE = (
    ".graph text{font:11px 'DejaVu Sans',Helvetica,Arial,sans-serif;fill:#222} "
    ".graph .edge{stroke:var(--line,#999);fill:none} .graph .sheet{fill:var(--sheet,#fff)} "
    ".graph .box{stroke:#555;stroke-width:.8} .graph .box:hover{stroke:var(--ink,#000);stroke-width:2} "
    ".graph .detail{font-size:9px;fill:#444} .graph .note{font-weight:bold}"
)


@dataclass(frozen=True)
class Box:
    """Appearance of a node.

    title: tooltip. note: short text at its right. edge: colour of its left edge, "" for none.
    opens: id of the element that the surrounding page shows after a click.
    """

    label: str
    detail: str
    colour: str
    title: str
    note: str = ""
    edge: str = ""
    opens: str = ""


def draw_graph(graph: Graph, box_of: Callable[[Node], Box | None]) -> str:
    """Return the graph as SVG. box_of: returns None to omit a node; edges then join its readers and operands."""
    boxes = {node: box for node in graph.nodes if (box := box_of(node)) is not None}
    inputs = {node for node in boxes if node.op == "placeholder"}
    return draw_boxes(boxes, {node: _sources(node, boxes) for node in boxes}, inputs)


def draw_boxes(boxes: Mapping[Key, Box], edges: Mapping[Key, Sequence[Key]], inputs: set[Key]) -> str:
    """Return boxes, in topological order, as SVG. edges: operands of each. inputs: boxes drawn above readers."""
    rows = _rows(boxes, edges, inputs)
    widest = max((len(row) for row in rows), default=1)
    width = 2 * _MARGIN + widest * (_WIDTH + _GAP) - _GAP
    height = 2 * _MARGIN + max(0, len(rows) - 1) * _STEP + _HEIGHT
    place = {
        node: ((width - len(row) * (_WIDTH + _GAP) + _GAP) / 2 + column * (_WIDTH + _GAP), _MARGIN + depth * _STEP)
        for depth, row in enumerate(rows)
        for column, node in enumerate(row)
    }
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="graph" {size}>',
            f'<style>{_STYLE}</style><rect class="sheet" width="100%" height="100%"/>',
            *(_edge(place[source], place[node]) for node, sources in edges.items() for source in sources),
            *(_box(*place[node], box) for node, box in boxes.items()),
            "</svg>",
        ]
    )


def describe_value(node: Node) -> str:
    """Return dtype and sizes of a node's value, such as `float32[1, 64, 56, 56]`."""
    value = node.meta.get("val")
    values = value if isinstance(value, (list, tuple)) else [value]
    return ", ".join(
        f"{str(value.dtype).removeprefix('torch.')}[{', '.join(map(str, value.shape))}]"
        for value in values
        if isinstance(value, torch.Tensor)
    )


def _sources(node: Node, boxes: Mapping[Node, Box]) -> list[Node]:
    """Return the drawn nodes that a node reads, directly or through omitted nodes."""
    sources: dict[Node, None] = {}
    waiting = list(node.all_input_nodes)
    while waiting:
        source = waiting.pop()
        if source in boxes:
            sources[source] = None
        elif source.target is operator.getitem:
            waiting += source.all_input_nodes
    return list(sources)


def _rows(boxes: Mapping[Key, Box], edges: Mapping[Key, Sequence[Key]], inputs: set[Key]) -> list[list[Key]]:
    """Return the nodes by depth. Inputs are right above their first reader. Rows are sorted by centre of operands."""
    depth: dict[Key, int] = {}
    for node in boxes:
        depth[node] = 1 + max((depth[source] for source in edges[node]), default=-1)
    first_reader: dict[Key, int] = {}
    for node in boxes:
        for source in edges[node]:
            first_reader[source] = min(depth[node], first_reader.get(source, depth[node]))
    for node in inputs:
        depth[node] = max(depth[node], first_reader.get(node, 1) - 1)
    rows: list[list[Key]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for node in boxes:
        rows[depth[node]].append(node)
    centre: dict[Key, float] = {}
    for row in rows:
        wanted = {node: _mean([centre[source] for source in edges[node] if source in centre]) for node in row}
        row.sort(key=lambda node: wanted[node])
        centre.update({node: column - (len(row) - 1) / 2 for column, node in enumerate(row)})
    return rows


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _edge(start: tuple[float, float], end: tuple[float, float]) -> str:
    x, y, to_x, to_y = start[0] + _WIDTH / 2, start[1] + _HEIGHT, end[0] + _WIDTH / 2, end[1]
    half = (to_y - y) / 2
    curve = f"C{x:.0f} {y + half:.0f} {to_x:.0f} {to_y - half:.0f} {to_x:.0f} {to_y:.0f}"
    return f'<path class="edge" d="M{x:.0f} {y:.0f} {curve}"/>'


def _box(x: float, y: float, box: Box) -> str:
    shown = f' data-opens="{escape(box.opens)}"' if box.opens else ""
    room = 29 - (len(box.note) + 1 if box.note else 0)
    parts = [
        f'<g{shown}><title>{escape(box.title)}</title><rect class="box" x="{x:.0f}" y="{y:.0f}" rx="4" '
        f'width="{_WIDTH}" height="{_HEIGHT}" fill="{box.colour}"/>',
        f'<text x="{x + 8:.0f}" y="{y + 14:.0f}">{escape(_short(box.label, room))}</text>',
        f'<text class="detail" x="{x + 8:.0f}" y="{y + 27:.0f}">{escape(_short(box.detail, 38))}</text>',
    ]
    if box.edge:
        parts.append(f'<rect x="{x:.0f}" y="{y:.0f}" width="5" height="{_HEIGHT}" rx="2" fill="{box.edge}"/>')
    if box.note:
        note = f'x="{x + _WIDTH - 6:.0f}" y="{y + 14:.0f}" text-anchor="end"'
        parts.append(f'<text class="note" {note}>{escape(box.note)}</text>')
    return "".join([*parts, "</g>"])


def _short(text: str, max_length: int) -> str:
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"
