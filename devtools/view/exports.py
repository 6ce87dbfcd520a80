# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Exports for other viewers: a trace for Perfetto and chrome://tracing, a graph for Google's Model Explorer."""

from __future__ import annotations

import operator
from typing import Any

from executorch.devtools.analysis.program_view import Call
from executorch.devtools.analysis.run_analysis import RunAnalysis
from executorch.devtools.inspector.attribution import DELEGATE_CALL, OPERATOR_CALL, handles_of_node
from executorch.devtools.inspector.event import Event
from executorch.devtools.inspector.time_scale import TimeScale, scale_factor
from executorch.devtools.view.gaps import decibel
from executorch.devtools.view.markup import milliseconds
from executorch.devtools.view.model_explorer import collection, describe_source, explorer_node
from executorch.exir.error import operator_name

_LANES = ("runtime", "instructions", "inside delegates")


def chrome_trace(analysis: RunAnalysis) -> dict[str, Any]:
    """All runs in the Trace Event Format (complete events, times in microseconds), one thread for each level."""
    begin = min(
        (start for block in analysis.blocks for event in block.events for start in event.start_time or []), default=0
    )
    named = [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": number, "args": {"name": name}}
        for number, name in enumerate(_LANES)
    ]
    process = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": f"{analysis.title}: {analysis.method}"}}
    events: list[dict[str, Any]] = []
    for block in analysis.blocks:
        to_us = scale_factor(block.source_time_scale, TimeScale.US)
        for event in block.events:
            if event.perf_data is None or event.name == OPERATOR_CALL:
                continue
            for run, (start, time) in enumerate(zip(event.start_time or [], event.perf_data.raw, strict=True)):
                events.append(_event(event, run) | {"ts": (start - begin) / to_us, "dur": 1000 * time})
    return {"displayTimeUnit": "ms", "traceEvents": [process, *named, *sorted(events, key=lambda event: event["ts"])]}


def _event(event: Event, run: int) -> dict[str, Any]:
    lane = 2 if event.is_delegated_op else 0 if event._instruction_id is None else 1
    modules = {list(stack.values())[-1][0] for stack in event.module_hierarchy.values() if stack}
    details = {
        "run": run,
        "ran": event.name,
        "instruction": event._instruction_id,
        "operators": ", ".join(event.op_types[:8]),
        "modules": ", ".join(sorted(modules)[:8]),
    }
    name = event.delegate_backend_name or event.name if event.name == DELEGATE_CALL else event.name
    if lane and event.name != DELEGATE_CALL and event.op_types:
        name = " + ".join(dict.fromkeys(event.op_types))
    arguments = {key: value for key, value in details.items() if value not in (None, "")}
    return {"name": name, "cat": _LANES[lane], "ph": "X", "pid": 1, "tid": lane, "args": arguments}


def model_explorer(analysis: RunAnalysis) -> dict[str, Any]:
    """The method's graph; the operators inside a delegate form a separate layer."""
    nodes = []
    for call in analysis.calls:
        if call.instruction is not None and analysis.inside.get(call.instruction):
            nodes += _inside(analysis, call)
        facts = {"value": call.value, "instruction": _text(call.instruction), **_measured(analysis, call.instruction)}
        nodes.append(explorer_node(call.key, call.label, "", facts, call.reads))
    return collection(analysis.title, analysis.method, nodes)


def _inside(analysis: RunAnalysis, call: Call) -> list[dict[str, Any]]:
    """The delegate's operators as a layer beside its call."""
    assert call.instruction is not None
    layer = f"inside {call.label} ({call.key})"
    members = analysis.inside[call.instruction]
    inner_nodes = []
    for node in members:
        sources = [
            inner.name
            for source in node.all_input_nodes
            for inner in (source.all_input_nodes if source.target is operator.getitem else [source])
            if inner in members
        ]
        gaps = analysis.gaps_of(call.instruction, handles_of_node(node))
        facts = {"node": node.name, "SQNR": ", ".join(f"{decibel(gap.sqnr)} dB" for gap in gaps)}
        facts |= describe_source(node)
        ids = [f"{call.key}/{name}" for name in sources]
        label = operator_name(node.target).replace("::", ".")
        inner_nodes.append(explorer_node(f"{call.key}/{node.name}", label, layer, facts, ids))
    return inner_nodes


def _measured(analysis: RunAnalysis, instruction: int | None) -> dict[str, str]:
    time = sum(step.time for step in analysis.steps_of(instruction))
    gaps = analysis.gaps_of(instruction)
    return {
        "time": milliseconds(time) if time else "",
        "SQNR": ", ".join(f"{decibel(gap.sqnr)} dB" for gap in gaps),
        "differs": "yes" if any(gap.differs for gap in gaps) else "",
    }


def _text(number: int | None) -> str:
    return "" if number is None else str(number)
