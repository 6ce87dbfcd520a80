# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""What other viewers read: a trace for Perfetto and chrome://tracing, a graph for Google's Model Explorer."""

from __future__ import annotations

import operator
from typing import Any

from executorch.devtools.inspector.attribution import DELEGATE_CALL, OPERATOR_CALL, handles_of_node
from executorch.devtools.inspector.event import Event
from executorch.devtools.inspector.time_scale import TimeScale, scale_factor
from executorch.devtools.report.gaps import decibel
from executorch.devtools.report.markup import milliseconds
from executorch.devtools.report.program_view import Call
from executorch.devtools.report.study import Study
from executorch.devtools.visualization.model_explorer_graph import collection, describe_source, explorer_node
from executorch.exir.error import operator_name

_LANES = ("runtime", "instructions", "inside delegates")


def chrome_trace(study: Study) -> dict[str, Any]:
    """All runs in the Trace Event Format (complete events; times in microseconds), a thread for each level."""
    begin = min(
        (start for block in study.blocks for event in block.events for start in event.start_time or []), default=0
    )
    named = [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": number, "args": {"name": name}}
        for number, name in enumerate(_LANES)
    ]
    process = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": f"{study.title}: {study.method}"}}
    events: list[dict[str, Any]] = []
    for block in study.blocks:
        to_us = scale_factor(block.source_time_scale, TimeScale.US)
        for event in block.events:
            if event.perf_data is None or event.name == OPERATOR_CALL:
                continue
            for run, (start, time) in enumerate(zip(event.start_time or [], event.perf_data.raw, strict=True)):
                events.append(_event(event, run) | {"ts": (start - begin) / to_us, "dur": 1000 * time})
    return {"displayTimeUnit": "ms", "traceEvents": [process, *named, *sorted(events, key=lambda each: each["ts"])]}


def _event(event: Event, run: int) -> dict[str, Any]:
    lane = 2 if event.is_delegated_op else 0 if event._instruction_id is None else 1
    modules = {list(stack.values())[-1][0] for stack in event.module_hierarchy.values() if stack}
    said = {
        "run": run,
        "ran": event.name,
        "instruction": event._instruction_id,
        "operators": ", ".join(event.op_types[:8]),
        "modules": ", ".join(sorted(modules)[:8]),
    }
    name = event.delegate_backend_name or event.name if event.name == DELEGATE_CALL else event.name
    if lane and event.name != DELEGATE_CALL and event.op_types:
        name = " + ".join(dict.fromkeys(event.op_types))
    arguments = {key: value for key, value in said.items() if value not in (None, "")}
    return {"name": name, "cat": _LANES[lane], "ph": "X", "pid": 1, "tid": lane, "args": arguments}


def model_explorer(study: Study) -> dict[str, Any]:
    """The method's graph; what is known of a delegate's inside is a layer of its own."""
    nodes = []
    for call in study.calls:
        if call.instruction is not None and study.inside.get(call.instruction):
            nodes += _inside(study, call)
        facts = {"value": call.value, "instruction": _text(call.instruction), **_measured(study, call.instruction)}
        nodes.append(explorer_node(call.key, call.label, "", facts, call.reads))
    return collection(study.title, study.method, nodes)


def _inside(study: Study, call: Call) -> list[dict[str, Any]]:
    """The delegate's operators, in a layer beside its call."""
    assert call.instruction is not None
    layer = f"inside {call.label} ({call.key})"
    members = study.inside[call.instruction]
    found = []
    for node in members:
        sources = [
            inner.name
            for source in node.all_input_nodes
            for inner in (source.all_input_nodes if source.target is operator.getitem else [source])
            if inner in members
        ]
        gaps = study.gaps_of(call.instruction, handles_of_node(node))
        facts = {"node": node.name, "SQNR": ", ".join(f"{decibel(gap.sqnr)} dB" for gap in gaps)}
        facts |= describe_source(node)
        ids = [f"{call.key}/{name}" for name in sources]
        label = operator_name(node.target).replace("::", ".")
        found.append(explorer_node(f"{call.key}/{node.name}", label, layer, facts, ids))
    return found


def _measured(study: Study, instruction: int | None) -> dict[str, str]:
    time = sum(step.time for step in study.steps_of(instruction))
    gaps = study.gaps_of(instruction)
    return {
        "time": milliseconds(time) if time else "",
        "SQNR": ", ".join(f"{decibel(gap.sqnr)} dB" for gap in gaps),
        "differs": "yes" if any(gap.differs for gap in gaps) else "",
    }


def _text(number: int | None) -> str:
    return "" if number is None else str(number)
