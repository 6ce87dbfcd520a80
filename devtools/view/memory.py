# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A plot of a memory plan as SVG or HTML: steps to the right, addresses up, a rectangle for each tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

from executorch.devtools.view.style import COLOURS
from executorch.exir.memory.plan import Arena, MemoryPlan, PlannedTensor

_WIDTH, _PLOT_HEIGHT = 1200, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 90, 230, 46, 44
_MAX_COLOURS = 14
_OTHERS = "others"
# A page may set other colours for axes, text and background.
_STYLE = """
.plan text{font:12px 'DejaVu Sans',Helvetica,Arial,sans-serif;fill:var(--ink,#222)} .plan .title{font-size:14px;
font-weight:bold} .plan .small{font-size:10px} .plan .axis{stroke:var(--line,#888);fill:none}
.plan .grid{stroke:var(--rule,#e4e4e4)} .plan .bound{stroke:var(--bad,#c00);stroke-dasharray:6 4}
.plan .alive{stroke:var(--ink,#222);fill:none;stroke-width:1.2} .plan .tensor{stroke:var(--sheet,#fff);stroke-width:.6}
.plan .tensor:hover{stroke:var(--ink,#000);stroke-width:2} .plan .inside{fill:#222} .plan .sheet{fill:var(--sheet,#fff)}
""".replace("\n", " ").strip()
_PAGE_STYLE = "body{font:14px sans-serif;margin:24px} svg{max-width:100%;height:auto}"


def write_memory_plan(plans: Mapping[str, MemoryPlan], path: str | Path) -> None:
    """Write a plot of the plans (method → plan) to a file: `.html`, or `.svg` with the methods one below the other.

    Raises ValueError for another ending.
    """
    path = Path(path)
    drawers: dict[str, Callable[[Mapping[str, MemoryPlan]], str]] = {".svg": plan_svg, ".html": plan_html}
    if path.suffix not in drawers:
        raise ValueError(f"expected a path that ends in .svg or .html, found {path}")
    path.write_text(drawers[path.suffix](plans), encoding="utf-8")


def plan_svg(plans: Mapping[str, MemoryPlan]) -> str:
    """Return one SVG with one plot for each nonempty arena."""
    plots = [(name, plan, arena) for name, plan in plans.items() for arena in plan.arenas if arena.size]
    height = _TOP + _PLOT_HEIGHT + _BOTTOM
    total = max(1, len(plots)) * height
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plan" viewBox="0 0 {_WIDTH} {total}" width="{_WIDTH}" '
        f'height="{total}">',
        f'<style>{_STYLE}</style><rect class="sheet" width="100%" height="100%"/>',
    ]
    if not plots:
        parts.append(f'<text x="{_LEFT}" y="{_TOP}">no planned memory</text>')
    for index, (name, plan, arena) in enumerate(plots):
        parts += [f'<g transform="translate(0 {index * height})">', *_Plot(name, plan, arena).draw(), "</g>"]
    return "\n".join([*parts, "</svg>"])


def plan_html(plans: Mapping[str, MemoryPlan]) -> str:
    """Return an HTML page with the figures and the plot of each method."""
    parts = ["<!doctype html>", f'<html><head><meta charset="utf-8"><title>Memory plan</title><style>{COLOURS}']
    parts.append(f"{_PAGE_STYLE}</style></head><body><h1>Memory plan</h1>")
    for name, plan in plans.items():
        reused = sum(bool(tensor.in_place_of) for tensor in plan.tensors)
        parts.append(
            f"<h2>{escape(name)}</h2><p>{len(plan.tensors)} tensors in {plan.steps} steps, {reused} in place of "
            f"an operand; {_bytes(plan.size)} planned, lower bound {_bytes(plan.lower_bound)}, {_verdict(plan)}.</p>"
        )
        parts.append(plan_svg({name: plan}))
    return "\n".join([*parts, "</body></html>"])


def _verdict(quality: Arena | MemoryPlan) -> str:
    return "proven optimal" if quality.is_optimal else f"{quality.gap:.1%} above it"


def _bytes(count: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" or count == int(count) else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def _group(tensor: PlannedTensor) -> str:
    """Return the group whose colour a tensor has: its module, down to the second level, else its operator."""
    return ".".join(tensor.module.split(".")[:2]) or tensor.operator


def _colours(tensors: list[PlannedTensor]) -> dict[str, str]:
    """Return a colour for each group: distinct ones by bytes times steps, grey beyond the first 14."""
    weight: dict[str, int] = {}
    for tensor in tensors:
        weight[_group(tensor)] = weight.get(_group(tensor), 0) + tensor.size * (tensor.last - tensor.first + 1)
    largest = sorted(weight, key=lambda group: -weight[group])[:_MAX_COLOURS]
    named = {}
    for index, group in enumerate(largest):
        named[group] = f"hsl({round(215 + index * 137.5) % 360}, 58%, {62 + 8 * (index % 2)}%)"
    return named | {group: "#bbb" for group in weight if group not in named}


@dataclass(frozen=True)
class _Plot:
    method: str
    plan: MemoryPlan
    arena: Arena

    @property
    def start(self) -> int:
        """The step before the first result: the steps of inputs and weights before it are left out."""
        return max(0, min((tensor.first for tensor in self.plan.tensors if tensor.operator != "input"), default=1) - 1)

    def x(self, step: float) -> float:
        share = max(0.0, step - self.start) / (self.plan.steps + 1 - self.start)
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * share

    def y(self, address: float) -> float:
        return _TOP + _PLOT_HEIGHT * (1 - address / max(self.arena.size, self.arena.lower_bound))

    def draw(self) -> list[str]:
        tensors = [tensor for tensor in self.plan.tensors if tensor.mem_id == self.arena.mem_id and tensor.size]
        colours = _colours(tensors)
        title = (
            f"{self.method}, arena {self.arena.mem_id}: {_bytes(self.arena.size)}, "
            f"lower bound {_bytes(self.arena.lower_bound)}, {_verdict(self.arena)}"
        )
        return [
            f'<text class="title" x="{_LEFT}" y="24">{escape(title)}</text>',
            *self._axes(),
            *(self._tensor(tensor, colours[_group(tensor)]) for tensor in tensors),
            self._alive(tensors),
            *self._bound(),
            *self._legend(colours),
        ]

    def _axes(self) -> list[str]:
        bottom, right = self.y(0), self.x(self.plan.steps + 1)
        parts = []
        for part in range(5):
            address = self.arena.size * part / 4
            y = self.y(address)
            parts.append(f'<line class="grid" x1="{_LEFT}" x2="{right:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_bytes(address)}</text>')
        every = max(1, round((self.plan.steps - self.start) / 10))
        for step in range(self.start, self.plan.steps + 1, every):
            parts.append(f'<text class="small" x="{self.x(step):.1f}" y="{bottom + 15:.1f}">{step}</text>')
        parts.append(f'<path class="axis" d="M{_LEFT} {_TOP} V{bottom:.1f} H{right:.1f}"/>')
        parts.append(f'<text x="{(_LEFT + right) / 2:.1f}" y="{bottom + 34:.1f}" text-anchor="middle">step</text>')
        return parts

    def _tensor(self, tensor: PlannedTensor, colour: str) -> str:
        x, y = self.x(tensor.first), self.y(tensor.offset + tensor.size)
        width, height = self.x(tensor.last + 1) - x, self.y(tensor.offset) - y
        says = [
            f"{tensor.name} = {tensor.operator}",
            f"{tensor.dtype}{list(tensor.shape)}, {_bytes(tensor.size)} at {tensor.offset}",
            f"steps {tensor.first} to {tensor.last}",
        ]
        says += [f"in place of {tensor.in_place_of}"] if tensor.in_place_of else []
        says += [f"module {tensor.module}"] if tensor.module else []
        label = ""
        if height > 14 and width > 7 * len(tensor.name) + 6:
            label = (
                f'<text class="small inside" x="{x + 4:.1f}" y="{y + height / 2 + 4:.1f}">{escape(tensor.name)}</text>'
            )
        return (
            f'<g><title>{escape(chr(10).join(says))}</title><rect class="tensor" x="{x:.1f}" y="{y:.1f}" '
            f'width="{width:.1f}" height="{max(height, 0.5):.1f}" fill="{colour}"/>{label}</g>'
        )

    def _alive(self, tensors: list[PlannedTensor]) -> str:
        """Return the line of the bytes alive at each step."""
        alive = [0] * (self.plan.steps + 1)
        for tensor in tensors:
            for step in range(tensor.first, tensor.last + 1):
                alive[step] += tensor.size
        steps = range(self.start, self.plan.steps + 1)
        points = " ".join(f"V{self.y(alive[i]):.1f} H{self.x(i + 1):.1f}" for i in steps)
        return f'<path class="alive" d="M{_LEFT} {self.y(0):.1f} {points}"><title>bytes alive</title></path>'

    def _bound(self) -> list[str]:
        y, right = self.y(self.arena.lower_bound), self.x(self.plan.steps + 1)
        return [f'<line class="bound" x1="{_LEFT}" x2="{right:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>']

    def _legend(self, colours: Mapping[str, str]) -> list[str]:
        x = _WIDTH - _RIGHT + 20
        named = [(group, colour) for group, colour in colours.items() if colour != "#bbb"]
        rows = named + ([(_OTHERS, "#bbb")] if len(named) < len(colours) else [])
        parts = []
        for index, (group, colour) in enumerate(rows):
            y = _TOP + 8 + 18 * index
            text = group if len(group) <= 28 else f"…{group[-27:]}"
            parts.append(f'<rect x="{x}" y="{y - 9}" width="11" height="11" fill="{colour}"/>')
            parts.append(f'<text x="{x + 17}" y="{y + 1}">{escape(text)}</text>')
        y = _TOP + 16 + 18 * len(rows)
        for kind, text in (("bound", "lower bound"), ("alive", "bytes alive")):
            parts.append(f'<line class="{kind}" x1="{x}" x2="{x + 12}" y1="{y - 4}" y2="{y - 4}"/>')
            parts.append(f'<text x="{x + 17}" y="{y}">{text}</text>')
            y += 18
        return parts
