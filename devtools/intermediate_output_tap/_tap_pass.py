# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Add taps to an exported program: the values of selected nodes become outputs after the program's own."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind, OutputSpec, TensorArgument
from torch.utils import _pytree as pytree

from executorch.devtools.intermediate_output_tap import custom_ops_lib  # noqa: F401  (registers the operator)
from executorch.devtools.intermediate_output_tap._reducers import STATS, StatReducer, get_reducer
from executorch.devtools.intermediate_output_tap._selectors import NodeSelector, modules_of, select_all_call_function
from executorch.devtools.intermediate_output_tap._spec import TapSpec
from executorch.exir.rewrite.node_rewrite import origin_of

TapRule = tuple[NodeSelector, str | StatReducer]

_TAP: Any = torch.ops.executorch_devtools.tap.Tensor
_TAP_NAME = "executorch_devtools::tap.Tensor"


def is_tap_node(n: fx.Node) -> bool:
    """Return whether a node of an ATen graph is a tap."""
    return n.op == "call_function" and n.target is _TAP


def find_tap_nodes(gm: fx.GraphModule) -> list[fx.Node]:
    """The taps of an ATen or edge graph."""
    calls = gm.graph.find_nodes(op="call_function", target=_TAP)
    named = [node for node in gm.graph.nodes if node.op == "call_function" and _name(node) == _TAP_NAME]
    return named or list(calls)


def _name(node: fx.Node) -> str:
    name = getattr(node.target, "name", None)
    return str(name()) if callable(name) else ""


def tap_intermediate_outputs_(
    ep: ExportedProgram,
    rules: Sequence[TapRule] | TapRule | None = None,
    *,
    max_taps: int | None = None,
    error_on_empty: bool = True,
) -> tuple[ExportedProgram, list[TapSpec]]:
    """Add taps to `ep` in place; return it and a description of each tap.

    rules: (selector, reducer) pairs, or one pair. The first rule whose selector matches a node applies. The default
    rule reduces every call with STATS.
    max_taps: maximum number of taps. error_on_empty: raise ValueError if no rule matches any node; warn otherwise.
    """
    matches = _matches(ep.graph, _normalized(rules))[:max_taps]
    if not matches:
        message = "tap_intermediate_outputs_: no rule matched any node; check the selectors of the rules"
        if error_on_empty:
            raise ValueError(message)
        warnings.warn(message, UserWarning, stacklevel=2)
        return ep, []
    output = ep.graph.output_node()
    own: Any = output.args[0]
    specs = [_spec(node, reducer, len(own) + index) for index, (node, reducer) in enumerate(matches)]
    taps = [_insert(ep.graph, node, reducer) for node, reducer in matches]
    output.args = ((*own, *taps),)
    ep.graph_signature.output_specs += [
        OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(name=tap.name), None) for tap in taps
    ]
    _extend_result(ep, len(taps))
    ep.graph_module.recompile()
    return ep, specs


def _normalized(rules: Sequence[TapRule] | TapRule | None) -> list[tuple[NodeSelector, StatReducer]]:
    if rules is None:
        return [(select_all_call_function(), STATS)]
    listed: Any = [rules] if isinstance(rules, tuple) and len(rules) == 2 and callable(rules[0]) else rules
    if not listed:
        raise ValueError("tap_intermediate_outputs_: rules must have at least one rule")
    return [(selector, get_reducer(reducer)) for selector, reducer in listed]


def _matches(graph: fx.Graph, rules: list[tuple[NodeSelector, StatReducer]]) -> list[tuple[fx.Node, StatReducer]]:
    matches = []
    for node in graph.nodes:
        if node.op == "call_function" and not is_tap_node(node):
            reducer = next((candidate for selector, candidate in rules if selector(node)), None)
            if reducer is not None:
                matches.append((node, reducer))
    return matches


def _insert(graph: fx.Graph, node: fx.Node, reducer: StatReducer) -> fx.Node:
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        raise ValueError(f"cannot tap node '{node.name}' ({node.target}): expected one tensor, found {value}")
    with graph.inserting_after(node):
        tap = graph.call_function(_TAP, (node, reducer.name))
    tap.meta = origin_of(node)
    with value.fake_mode:  # type: ignore[attr-defined]
        tap.meta["val"] = reducer.eager(value)
    return tap


def _spec(node: fx.Node, reducer: StatReducer, index: int) -> TapSpec:
    path, name = [(None, None), *modules_of(node).values()][-1]
    return TapSpec(
        node.name, str(node.target), index, reducer.name, reducer.fields, node.meta.get("stack_trace"), path, name
    )


def _extend_result(ep: ExportedProgram, count: int) -> None:
    """Extend the program's output structure to a tuple with `count` more tensors."""
    for entry in ep.module_call_graph:
        if entry.fqn == "" and entry.signature is not None:
            own = pytree.tree_unflatten(range(entry.signature.out_spec.num_leaves), entry.signature.out_spec)
            whole = (*(own if isinstance(own, tuple) else (own,)), *range(count))
            entry.signature.out_spec = pytree.tree_structure(whole)
            # Leave out names: lowering renames the nodes.
            entry.signature.outputs.extend(TensorArgument(name="") for _ in range(count))
