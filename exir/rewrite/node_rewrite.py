# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Insert, change and replace nodes. New nodes inherit their origin (source lines, modules, debug handles)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import fx
from torch.fx.node import Argument, Target, map_arg

# Metadata that describe the origin of a node.
ORIGIN_KEYS = (
    "stack_trace",
    "nn_module_stack",
    "from_node",
    "source_fn_stack",
    "torch_fn",
    "seq_nr",
    "custom",
    "debug_handle",
    "compute_precision",  # in which a backend computes it (backend/partition/compute_precision.py)
    "fallback",  # partitioners that rejected it (backend/partition/fallback.py)
)


def origin_of(node: fx.Node) -> dict[str, object]:
    """Return the metadata that a replacement of `node` inherits."""
    return {key: node.meta[key] for key in ORIGIN_KEYS if key in node.meta}


def insert_before(
    where: fx.Node,
    target: Target,
    args: tuple[Argument, ...],
    kwargs: Mapping[str, Argument],
    value: object,
    origin: fx.Node | None = None,
) -> fx.Node:
    """Insert a call of `target` before `where`, with `value` as its `val` and the origin of `origin` (or `where`)."""
    assert callable(target)
    with where.graph.inserting_before(where):
        node = where.graph.call_function(target, args, dict(kwargs))
    node.meta = origin_of(origin or where)
    node.meta["val"] = value
    return node


def retarget(
    node: fx.Node,
    target: Target,
    args: tuple[Argument, ...] | None = None,
    kwargs: Mapping[str, Argument] | None = None,
) -> None:
    """Make `node` call another operator, and replace args and kwargs if given."""
    node.target = target
    if args is not None:
        node.args = args
    if kwargs is not None:
        node.kwargs = dict(kwargs)


def replace_by(node: fx.Node, replacement: fx.Node) -> None:
    """Replace all uses of `node` by `replacement`, and erase `node`."""
    node.replace_all_uses_with(replacement)
    node.graph.erase_node(node)


def argument(node: fx.Node, name: str) -> Any:
    """Return the named argument of an operator call: by position, by keyword, or the schema's default.

    Raises KeyError if the schema has no such argument.
    """
    for index, item in enumerate(node.target._schema.arguments):  # type: ignore[union-attr]
        if item.name == name:
            if index < len(node.args) and not item.kwarg_only:
                return node.args[index]
            return node.kwargs.get(name, item.default_value)
    raise KeyError(f"{node.target} has no argument '{name}'")


def with_values(arguments: Argument) -> Any:
    """Replace every node in `arguments` by its `val`."""
    return map_arg(arguments, lambda node: node.meta["val"])
