# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""What the nodes of an exported program compute, beside what the runtime computed for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram

from executorch.devtools.inspector.attribution import OPERATOR_CALL, handles_of, handles_of_node
from executorch.devtools.inspector.event import Event


@dataclass(frozen=True)
class Pair:
    """A node, and the event that ran it."""

    node: fx.Node
    expected: Any
    event: Event
    found: Any


class _Recorder(fx.Interpreter):
    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__(module)
        self.values: dict[fx.Node, Any] = {}

    def run_node(self, n: fx.Node) -> Any:
        value = super().run_node(n)
        if n.op == "call_function":
            # What follows may write into it.
            self.values[n] = value.detach().clone() if isinstance(value, torch.Tensor) else value
        return value


def node_values(program: ExportedProgram, inputs: Sequence[Any]) -> dict[fx.Node, Any]:
    """What the program's calls compute, run on `inputs`, those with debug handles, in graph order."""
    recorder = _Recorder(program.module())
    with torch.no_grad():
        recorder.run(*inputs)
    return {node: value for node, value in recorder.values.items() if node.meta.get("debug_handle") is not None}


def pairs_of(values: Mapping[fx.Node, Any], events: Sequence[Event]) -> list[Pair]:
    """The values of nodes with those that the events recorded, in graph order."""
    order = {node: position for position, node in enumerate(values)}
    pairs = [pair for calls in _by_handles(events) for pair in _pairs_of(calls, values)]
    return sorted(pairs, key=lambda pair: order[pair.node])


def _by_handles(events: Sequence[Event]) -> list[list[Event]]:
    """The events with values, those with the same handles together, in the order of their instructions."""
    groups: dict[tuple[int, ...], list[Event]] = {}
    for event in events:
        if handles_of(event) and event.debug_data and event.name != OPERATOR_CALL:
            groups.setdefault(handles_of(event), []).append(event)
    return [sorted(group, key=lambda event: event._instruction_id or 0) for group in groups.values()]


def _pairs_of(calls: Sequence[Event], values: Mapping[fx.Node, Any]) -> list[Pair]:
    handles = set(handles_of(calls[0]))
    inside = [node for node in values if handles_of_node(node) & handles]
    if not inside:
        return []
    if len(handles) == 1:
        return [Pair(node, values[node], event, event.debug_data[-1]) for node, event in _ran(inside, calls)]
    # A delegate: its outputs are the last of its arguments, and the nodes that others read.
    event = calls[-1]
    members = set(inside)
    results = [node for node in inside if any(user not in members for user in node.users)]
    found = event.debug_data[-event.num_outputs :]
    if len(found) == 1 and isinstance(found[0], list):
        found = found[0]
    return [Pair(node, values[node], event, value) for node, value in _matched(results, values, found)]


def _ran(nodes: Sequence[fx.Node], calls: Sequence[Event]) -> list[tuple[fx.Node, Event]]:
    """What each call ran of the nodes with its handle: the next of the kernel's name; the last call, at least the last
    node."""
    left = list(nodes)
    pairs = []
    for event in calls:
        name = event.name.removeprefix("native_call_").split(".")[0]
        node = next((each for each in left if str(each.target).split(".")[-2:-1] == [name]), None)
        if node is None and event is calls[-1]:
            node = left[-1] if left else None
        if node is not None:
            left = left[left.index(node) + 1 :]
            pairs.append((node, event))
    return pairs


def _matched(
    nodes: Sequence[fx.Node], values: Mapping[fx.Node, Any], found: Sequence[Any]
) -> list[tuple[fx.Node, Any]]:
    """Each value with the first node not taken yet whose value has its shape and dtype."""
    left = list(nodes)
    matched = []
    for value in found:
        node = next((each for each in left if _alike(values[each], value)), None)
        if node is not None:
            left.remove(node)
            matched.append((node, value))
    return matched


def _alike(expected: Any, found: Any) -> bool:
    if isinstance(expected, torch.Tensor) and isinstance(found, torch.Tensor):
        return expected.shape == found.shape and expected.dtype == found.dtype
    return type(expected) is type(found)
