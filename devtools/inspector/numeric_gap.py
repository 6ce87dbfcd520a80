# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Pair the values of an exported program's nodes with the values that the runtime recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from executorch.devtools.inspector.attribution import DELEGATE_CALL, OPERATOR_CALL, handles_of, handles_of_node
from executorch.devtools.inspector.event import Event
from executorch.devtools.inspector.sources import computes


@dataclass(frozen=True)
class Pair:
    """A node's value in its `turn`-th run (loops run a node repeatedly) and the event that computed it.

    nodes: all nodes fused into the event's operator, or just the node.
    """

    node: fx.Node
    turn: int
    expected: Any
    event: Event
    found: Any
    nodes: tuple[fx.Node, ...]


def pairs_of(values: Mapping[fx.Node, Sequence[Any]], events: Sequence[Event]) -> list[Pair]:
    """Pair the values of each run of each node with the events' recorded values, in the order of `values`."""
    order = {node: position for position, node in enumerate(values)}
    pairs = [pair for calls in _by_handles(events) for pair in _pairs_of(calls, values)]
    return sorted(pairs, key=lambda pair: (order[pair.node], pair.turn))


def last_pairs(pairs: Sequence[Pair]) -> list[Pair]:
    """The last pair of each node and event."""
    return list({(pair.node, id(pair.event)): pair for pair in pairs}.values())


def _by_handles(events: Sequence[Event]) -> list[list[Event]]:
    """Groups of events with equal handles, in instruction order. An instruction that ran several times appears once,
    with all its values.
    """
    groups: dict[tuple[int, ...], dict[int | None, Event]] = {}
    for event in events:
        if handles_of(event) and event.debug_data and event.name != OPERATOR_CALL:
            groups.setdefault(handles_of(event), {}).setdefault(event._instruction_id, event)
    return [sorted(group.values(), key=lambda event: event._instruction_id or 0) for group in groups.values()]


def _pairs_of(calls: Sequence[Event], values: Mapping[fx.Node, Sequence[Any]]) -> list[Pair]:
    handles = set(handles_of(calls[0]))
    inside = [node for node in values if handles_of_node(node) & handles]
    if not inside:
        return []
    if len(handles_of(calls[0])) == 1 and calls[0].name != DELEGATE_CALL:  # fused operators have several handles
        return [pair for node, event in _ran(inside, calls) for pair in _turns(node, values[node], event)]
    event = calls[-1]
    computing: tuple[fx.Node, ...] = ()
    if event.name == DELEGATE_CALL:  # the outputs are the last arguments
        members = set(inside)
        results = [node for node in inside if _is_read_outside(node, members)]
    else:  # a fused operator returns the last node's value
        results = inside[::-1]
        computing = tuple(node for node in inside if computes(node))
    times = max((len(values[node]) for node in results), default=1)
    each_time = len(event.debug_data) // times if len(event.debug_data) % times == 0 else len(event.debug_data)
    pairs = []
    for turn in range(len(event.debug_data) // each_time):
        found = event.debug_data[turn * each_time : (turn + 1) * each_time][-event.num_outputs :]
        if len(found) == 1 and isinstance(found[0], list):
            found = found[0]
        ran = {node: values[node][turn] for node in results if turn < len(values[node])}
        pairs += [
            Pair(node, turn, ran[node], event, value, computing or (node,)) for node, value in _matched(ran, found)
        ]
    return pairs


def _is_read_outside(node: fx.Node, members: set[fx.Node]) -> bool:
    """Look through readers without a handle: nodes of an exported program that lowering removed, such as `dropout`."""
    return any(
        user.op == "output" or bool(handles_of_node(user)) or _is_read_outside(user, members)
        for user in node.users
        if user not in members
    )


def _turns(node: fx.Node, expected: Sequence[Any], event: Event) -> list[Pair]:
    """One value for each run; the last one repeated if the program ran it less often than the model."""
    found = event.debug_data
    if len(expected) != len(found):
        return [Pair(node, len(expected) - 1, expected[-1], event, found[-1], (node,))]
    return [Pair(node, turn, a, event, b, (node,)) for turn, (a, b) in enumerate(zip(expected, found, strict=True))]


def _ran(nodes: Sequence[fx.Node], calls: Sequence[Event]) -> list[tuple[fx.Node, Event]]:
    """Assign to each call the nodes with its handle: the next one of the kernel's name. The last call gets at least the
    last node.
    """
    left = list(nodes)
    pairs = []
    for event in calls:
        name = event.name.removeprefix("native_call_").split(".")[0]
        node = next((candidate for candidate in left if str(candidate.target).split(".")[-2:-1] == [name]), None)
        if node is None and event is calls[-1]:
            node = left[-1] if left else None
        if node is not None:
            left = left[left.index(node) + 1 :]
            pairs.append((node, event))
    return pairs


def _matched(values: Mapping[fx.Node, Any], found: Sequence[Any]) -> list[tuple[fx.Node, Any]]:
    """Pair each value with the first unpaired node of equal shape and dtype."""
    left = list(values)
    matched = []
    for value in found:
        node = next((candidate for candidate in left if _alike(values[candidate], value)), None)
        if node is not None:
            left.remove(node)
            matched.append((node, value))
    return matched


def _alike(expected: Any, found: Any) -> bool:
    if isinstance(expected, torch.Tensor) and isinstance(found, torch.Tensor):
        return expected.shape == found.shape and expected.dtype == found.dtype
    return type(expected) is type(found)
