# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Section with the timeline of one run: a lane of instructions, and below it a lane of operators inside delegates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from executorch.devtools.analysis.run_analysis import RunAnalysis
from executorch.devtools.inspector.steps import RUNTIME, Step, by_operator, totals
from executorch.devtools.view.markup import OTHERS, colours_of, legend, milliseconds

_ZOOMS = (1, 2, 4, 8, 16)
_DELEGATE = "#c9cfda"
_LAST_LABEL = 0.96  # beyond this fraction of the width, a tick lacks room for its text


def timeline(analysis: RunAnalysis) -> str:
    """Return the section's HTML."""
    duration = max((step.length for step in analysis.steps if step.ran == RUNTIME), default=0.0) or analysis.whole
    operators = [step for step in analysis.steps if step.is_operator]
    colours = colours_of(total.key for total in totals(operators, by_operator) if total.calls > total.fused)
    delegates = {step.instruction for step in analysis.steps if not step.is_operator and step.ran != RUNTIME}
    lanes = [
        ("instructions", [step for step in analysis.steps if step.ran != RUNTIME and not _is_inside(step, delegates)]),
        ("inside delegates", [step for step in operators if _is_inside(step, delegates)]),
    ]
    buttons = "".join(f'<button data-zoom="{zoom}">{zoom} x</button>' for zoom in _ZOOMS)
    rows = "".join(_lane(name, steps, duration, colours) for name, steps in lanes if steps)
    named = [(colour, name) for name, colour in colours.items() if colour != OTHERS]
    if len(named) < len(colours):
        named.append((OTHERS, f"{len(colours) - len(named)} other operators"))
    if delegates:
        named.append((_DELEGATE, "a delegate's call"))
    return (
        f"<p>The run of median time among {analysis.runs}: {milliseconds(duration)}. Hover over a part for details. "
        f'Zoom: <span class="zoom">{buttons}</span></p>'
        f'<div class="scroll"><div class="time" id="time">{rows}{_axis(duration)}</div></div>{legend(named)}'
    )


def _is_inside(step: Step, delegates: set[int | None]) -> bool:
    return step.is_operator and step.instruction in delegates


def _lane(name: str, steps: Sequence[Step], duration: float, colours: Mapping[str, str]) -> str:
    return f'<div class="lane"><em>{name}</em>{"".join(_part(step, duration, colours) for step in steps)}</div>'


def _part(step: Step, duration: float, colours: Mapping[str, str]) -> str:
    label = step.label if step.is_operator else str(step.backend)
    short = _short(label, bool(step.sources[1:]))
    colour = colours[step.label] if step.is_operator else _DELEGATE
    says = [label, f"{milliseconds(step.length)} at {milliseconds(step.start)}", f"ran: {step.ran}"]
    says += [f"module: {step.module or '(the model)'}"] if step.module is not None else []
    says += [step.line] if step.line else []
    says += [f"with {source.operator} of {source.module or '(the model)'}" for source in step.sources[1:]]
    left, width = 100 * step.start / duration, 100 * min(step.length, duration - step.start) / duration
    place = f"left:{left:.4f}%;width:{max(width, 0):.4f}%;background:{colour}"
    return f'<div class="part" style="{place}" title="{escape(chr(10).join(says))}">{escape(short)}</div>'


def _short(label: str, is_more: bool) -> str:
    """Format an operator without namespace and overload; is_more: others are fused into it."""
    parts = label.split(".")
    name = parts[-2] if len(parts) > 2 else parts[-1]
    return name + (" + …" if is_more else "")


def _axis(duration: float) -> str:
    step = _tick(duration)
    count = int(duration / step * _LAST_LABEL)
    ticks = "".join(
        f'<span style="left:{100 * number * step / duration:.3f}%">{_tick_text(number * step)}</span>'
        for number in range(count + 1)
    )
    return f'<div class="axis">{ticks}</div>'


def _tick(duration: float) -> float:
    """A round step that divides the duration into about ten parts."""
    base: float = 10.0 ** len(str(int(duration))) / 1000 if duration >= 1 else 1e-6
    while True:
        for factor in (1, 2, 5):
            if duration / (base * factor) <= 10:
                return base * factor
        base *= 10


def _tick_text(time: float) -> str:
    return f"{time:g} ms" if time >= 1 or not time else f"{1000 * time:g} µs"
