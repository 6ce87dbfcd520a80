# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A call's decomposition: traced as a graph of its own, and put in the place of the call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import fx
from torch._dispatch.python import enable_python_dispatcher
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.node import map_arg
from torch.fx.traceback import NodeSource, NodeSourceAction

from executorch.exir.dialects._ops import EdgeOpOverload
from executorch.exir.rewrite.node_rewrite import origin_of

Table = dict[Any, Callable[..., Any]]


def aten_operator(node: fx.Node) -> Any:
    """What a node calls, as an ATen operator where it is an edge operator."""
    return node.target._op if isinstance(node.target, EdgeOpOverload) else node.target


def is_composite(op: Any) -> bool:
    """Whether PyTorch computes `op` by calling other operators, on every device."""
    key = "CompositeImplicitAutograd"
    return isinstance(op, OpOverload) and torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), key)


@contextmanager
def _no_processor_libraries() -> Iterator[None]:
    """Composite operators that choose such a library would name operators that no runtime has."""
    mkldnn: Any = torch.backends.mkldnn
    before = mkldnn.set_flags(False)
    try:
        yield
    finally:
        mkldnn.set_flags(*before)


def own_value(value: Any) -> Any:
    """A fake tensor equal to `value` that no other node has: tracing tells inputs apart by their identity."""
    if isinstance(value, FakeTensor):
        with value.fake_mode, torch.no_grad():
            return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=value.device)
    return [own_value(item) for item in value] if isinstance(value, (list, tuple)) else value


def _distinct(inputs: list[fx.Node]) -> list[Any]:
    values: list[Any] = []
    for held in inputs:
        value = held.meta["val"]
        values.append(own_value(value) if any(value is other for other in values) else value)
    return values


def traced_body(node: fx.Node, table: Table, mode: FakeTensorMode) -> fx.GraphModule:
    """A graph that computes what `node` does from its input nodes, in their order, decomposed as `table` says."""
    inputs = node.all_input_nodes
    op = aten_operator(node)
    decomposition = table.get(op, op)

    def compute(*values: Any) -> Any:
        given = dict(zip(inputs, values, strict=True))
        args, kwargs = map_arg(node.args, given.__getitem__), map_arg(node.kwargs, given.__getitem__)
        result = decomposition(*args, **kwargs)
        result = op(*args, **kwargs) if result is NotImplemented else result
        return tuple(result) if isinstance(result, tuple) else result  # a named tuple would be a call in the graph

    with _no_processor_libraries(), enable_python_dispatcher(), mode, torch.no_grad():
        traced: fx.GraphModule = make_fx(compute, decomposition_table=table)(*_distinct(inputs))
    return traced


def inline_body(graph_module: fx.GraphModule, node: fx.Node, body: fx.GraphModule, mode: FakeTensorMode) -> Any:
    """Puts copies of the nodes of `body` in the place of `node`, which is removed with its getitems.

    Returns what stands for the result now: a node, or a structure of nodes for several results.
    """
    placeholders = [held for held in body.graph.nodes if held.op == "placeholder"]
    mapped: dict[fx.Node, fx.Node] = dict(zip(placeholders, node.all_input_nodes, strict=True))
    meta = origin_of(node)
    meta["from_node"] = [NodeSource(node, "decompose", NodeSourceAction.CREATE)]
    result: Any = None
    with graph_module.graph.inserting_before(node):
        for held in body.graph.nodes:
            if held.op == "output":
                result = map_arg(held.args[0], mapped.__getitem__)
            elif held.op != "placeholder":
                mapped[held] = _copied(graph_module, body, held, mapped, mode)
                given = mapped[held].meta
                # What is called for its effect, as an assertion, has no value.
                mapped[held].meta = {**meta, "val": own_value(given["val"])} if "val" in given else dict(meta)
    if isinstance(result, fx.Node):
        node.replace_all_uses_with(result)
    else:
        for user in list(node.users):
            user.replace_all_uses_with(result[user.args[1]])
            graph_module.graph.erase_node(user)
    graph_module.graph.erase_node(node)
    return result


def _copied(
    graph_module: fx.GraphModule,
    body: fx.GraphModule,
    held: fx.Node,
    mapped: dict[fx.Node, fx.Node],
    mode: FakeTensorMode,
) -> fx.Node:
    copied = graph_module.graph.node_copy(held, mapped.__getitem__)
    if held.op == "get_attr":
        name = f"_decomposed_{copied.name}"
        graph_module.register_buffer(name, getattr(body, str(held.target)))
        copied.target = name
        copied.meta["val"] = mode.from_tensor(getattr(body, str(held.target)), static_shapes=True)
    return copied
