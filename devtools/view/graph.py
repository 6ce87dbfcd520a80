# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Section with the method's graph: kernels and delegates with time and numeric difference; delegates can be opened."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from html import escape

from torch import fx

from executorch.devtools.analysis.program_view import Call
from executorch.devtools.analysis.run_analysis import RunAnalysis
from executorch.devtools.comparison.result import OperatorGap
from executorch.devtools.inspector.attribution import handles_of_node
from executorch.devtools.inspector.steps import Step
from executorch.devtools.view.boxes import Box, describe_value, draw_boxes
from executorch.devtools.view.gaps import decibel
from executorch.devtools.view.markup import legend, milliseconds
from executorch.exir.error import module_path, operator_name, source_line

_FIXED = {"input": "#e3e6ec", "output": "#e3e6ec", "kernel": "#f3cdb8", "control flow": "#f7eab5"}
_BACKENDS = ("#b5d0f5", "#bfe5c4", "#dcc6f2", "#f2c6de")
_SAME, _DIFFERS = "#2e9e5b", "#d22f4b"


def graph(analysis: RunAnalysis) -> str:
    """Return the section's HTML."""
    calls = analysis.calls
    backends = dict.fromkeys(call.label for call in calls if call.kind == "delegate")
    colours = {name: _BACKENDS[index % len(_BACKENDS)] for index, name in enumerate(backends)}
    boxes = {call.key: _call_box(analysis, call, colours) for call in calls}
    reads = {call.key: [read for read in call.reads if read in boxes] for call in calls}
    inputs = {call.key for call in calls if call.kind == "input"}
    entries = [*((colour, f"runs in {name}") for name, colour in colours.items())]
    entries += [(_FIXED[kind], text) for kind, text in (("kernel", "runs in a kernel"), ("input", "input or output"))]
    if analysis.comparison is not None:
        entries += [(_SAME, "left edge: agrees with the model"), (_DIFFERS, "left edge: differs from the model")]
    parts = [legend(entries), _note(analysis, bool(backends))]
    parts.append(f'<div class="scroll tall">{draw_boxes(boxes, reads, inputs)}</div>')
    parts += [_opened(analysis, call, colours[call.label]) for call in calls if call.kind == "delegate"]
    return "".join(parts)


def _note(analysis: RunAnalysis, has_delegates: bool) -> str:
    sentences = ["Each box shows its average time at the right."] if analysis.steps else []
    if has_delegates:
        sentences.append("Click a delegate to show its operators.")
        if not analysis.inside and not analysis.steps:
            sentences.append("The operators inside delegates require an ETRecord of the export.")
    return f"<p>{' '.join(sentences)}</p>"


def _call_box(analysis: RunAnalysis, call: Call, colours: Mapping[str, str]) -> Box:
    steps = analysis.steps_of(call.instruction)
    time = sum(step.time for step in steps)
    gaps = analysis.gaps_of(call.instruction)
    nodes = analysis.inside.get(call.instruction, ()) if call.instruction is not None else ()
    says = [call.label, call.value]
    says += [f"instruction {call.instruction}"] if call.instruction is not None else []
    says += [f"{len(nodes)} operators of the model"] if nodes else []
    says += [f"{step.label} of {step.module}, {step.line}" for step in steps if step.is_attributed][:1]
    return Box(
        label=call.label,
        detail=call.value or (f"{len(nodes)} operators" if nodes else ""),
        colour=colours.get(call.label, _FIXED["kernel"]) if call.kind == "delegate" else _FIXED[call.kind],
        title="\n".join([*(line for line in says if line), *_gap_lines(gaps)]),
        note=milliseconds(time) if time else "",
        edge=_edge(gaps),
        opens=f"inside-{call.instruction}" if call.kind == "delegate" else "",
    )


def _opened(analysis: RunAnalysis, call: Call, colour: str) -> str:
    instruction = call.instruction
    assert instruction is not None
    nodes = analysis.inside.get(instruction, ())
    steps = analysis.steps_of(instruction)
    head = f"inside {call.label}, instruction {instruction}"
    if nodes:
        content = _nodes_drawing(analysis, instruction, nodes, colour)
        head += f": {len(nodes)} operators of the model"
    elif steps:
        content = _steps_drawing(steps, colour)
        head += f": {sum(step.is_operator for step in steps)} operators, in their order"
    else:
        return ""
    return (
        f'<details class="inside" id="inside-{instruction}"><summary>{escape(head)}</summary>'
        f'<div class="scroll tall">{content}</div></details>'
    )


def _nodes_drawing(analysis: RunAnalysis, instruction: int, nodes: Sequence[fx.Node], colour: str) -> str:
    members = set(nodes)
    shown = {node: _node_box(analysis, instruction, node, colour) for node in nodes}
    outside: dict[fx.Node, Box] = {}
    edges: dict[fx.Node, list[fx.Node]] = {}
    for node in shown:
        edges[node] = []
        for source in _sources(node):
            if source in shown:
                edges[node].append(source)
            elif source not in members and source.op == "call_function":
                outside[source] = Box(source.name, describe_value(source), _FIXED["input"], "computed before")
                edges[node].append(source)
    return draw_boxes({**outside, **shown}, {**{node: [] for node in outside}, **edges}, set(outside))


def _sources(node: fx.Node) -> list[fx.Node]:
    """Operands of a node; a getitem is replaced by its source."""
    return [
        inner
        for source in node.all_input_nodes
        for inner in (source.all_input_nodes if source.target is operator.getitem else [source])
    ]


def _node_box(analysis: RunAnalysis, instruction: int, node: fx.Node, colour: str) -> Box:
    # Fused nodes share one time, which is shown at the node that takes it.
    steps = analysis.steps_of(instruction)
    time = sum(step.time for step in steps if step.sources and step.sources[0].node == node.name)
    leads = {step.sources[0].node: None for step in steps if node.name in (source.node for source in step.sources[1:])}
    gaps = analysis.gaps_of(instruction, handles_of_node(node))
    says = [node.name, str(node.target), module_path(node), source_line(node)]
    says += [f"in one with {', '.join(leads)}"] if leads and not time else []
    says += _gap_lines(gaps)
    return Box(
        label=operator_name(node.target).replace("::", "."),
        detail=describe_value(node),
        colour=colour,
        title="\n".join(line for line in says if line),
        note=milliseconds(time) if time else "",
        edge=_edge(gaps),
    )


def _steps_drawing(steps: Sequence[Step], colour: str) -> str:
    boxes = {
        number: Box(step.ran.split(": ")[-1], "", colour, step.ran, note=milliseconds(step.time) if step.time else "")
        for number, step in enumerate(step for step in steps if step.is_operator)
    }
    return draw_boxes(boxes, {number: [number - 1] if number else [] for number in boxes}, set())


def _gap_lines(gaps: Sequence[OperatorGap]) -> list[str]:
    return [f"{gap.operator}: max abs {gap.largest:.3g}, SQNR {decibel(gap.sqnr)} dB" for gap in gaps]


def _edge(gaps: Sequence[OperatorGap]) -> str:
    return "" if not gaps else _DIFFERS if any(gap.differs for gap in gaps) else _SAME
