# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Trace the decomposition of one call, and inline it in place of the call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.node import Argument, Target, map_arg

from executorch.exir.debug_handle_utils import FROM_NODE_KEY, node_source
from executorch.exir.dialects._ops import EdgeOpOverload
from executorch.exir.rewrite.fake_call import computing_on_fakes
from executorch.exir.rewrite.node_rewrite import origin_of

Table = dict[OpOverload, Callable[..., object]]


def aten_operator(node: fx.Node) -> Target:
    """Return a node's target, or the ATen operator that an edge operator wraps."""
    return node.target._op if isinstance(node.target, EdgeOpOverload) else node.target


def is_composite(op: object) -> bool:
    """Return whether PyTorch implements `op` by other operators on every device."""
    key = "CompositeImplicitAutograd"
    return isinstance(op, OpOverload) and torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), key)


@contextmanager
def _no_processor_libraries() -> Iterator[None]:
    """Disable mkldnn: composite operators would otherwise call its operators, which no runtime has."""
    mkldnn = torch.backends.mkldnn
    before = mkldnn.set_flags(False)
    try:
        yield
    finally:
        mkldnn.set_flags(*before)


def own_value(value: object) -> Any:
    """Return a new fake tensor like `value`: tracing identifies inputs by object identity."""
    if isinstance(value, FakeTensor):
        layout = (value.shape, value.stride())
        if all(isinstance(size, int) for sizes in layout for size in sizes):
            with torch.no_grad():  # without a dispatch in fake mode, which takes five times as long
                return FakeTensor(
                    value.fake_mode, torch.empty_strided(*layout, dtype=value.dtype, device="meta"), value.device
                )
        with value.fake_mode, torch.no_grad():
            return torch.empty_strided(*layout, dtype=value.dtype, device=value.device)
    return [own_value(item) for item in value] if isinstance(value, (list, tuple)) else value


def _distinct(inputs: list[fx.Node]) -> list[object]:
    values: list[object] = []
    for source in inputs:
        value = source.meta["val"]
        values.append(own_value(value) if any(value is other for other in values) else value)
    return values


def traced_body(node: fx.Node, table: Table, mode: FakeTensorMode) -> fx.GraphModule:
    """Trace the decomposition of `node` by `table` as a graph whose inputs are the node's input nodes, in order."""
    inputs = node.all_input_nodes
    op = aten_operator(node)
    assert isinstance(op, OpOverload)
    decomposition: Callable[..., object] = table.get(op, op)

    def compute(*values: Argument) -> object:
        given = dict(zip(inputs, values, strict=True))
        args, kwargs = map_arg(node.args, given.__getitem__), map_arg(node.kwargs, given.__getitem__)
        result = decomposition(*args, **kwargs)
        result = op(*args, **kwargs) if result is NotImplemented else result
        return tuple(result) if isinstance(result, tuple) else result  # a named tuple would add a call to the graph

    with _no_processor_libraries(), computing_on_fakes(mode, op):
        traced: fx.GraphModule = make_fx(compute, decomposition_table=table)(*_distinct(inputs))
    return traced


def inline_body(graph_module: fx.GraphModule, node: fx.Node, body: fx.GraphModule, mode: FakeTensorMode) -> Any:
    """Replace `node` and its getitems by copies of the nodes of `body`.

    Return the node of the result, or a structure of nodes for several results.
    """
    placeholders = [source for source in body.graph.nodes if source.op == "placeholder"]
    mapped: dict[fx.Node, fx.Node] = dict(zip(placeholders, node.all_input_nodes, strict=True))
    meta = origin_of(node)
    meta[FROM_NODE_KEY] = [node_source(node, "decompose")]
    result: Any = None
    with graph_module.graph.inserting_before(node):
        for source in body.graph.nodes:
            if source.op == "output":
                result = map_arg(source.args[0], mapped.__getitem__)
            elif source.op != "placeholder":
                mapped[source] = _copied(graph_module, body, source, mapped, mode)
                # Changed in place: for an assignment, the graph sorts the node into its tables again.
                given = mapped[source].meta
                # Calls with side effects only, such as assertions, have no value.
                values = {"val": own_value(given["val"])} if "val" in given else {}
                given.clear()
                given.update(meta, **values)
    replace_by_result(node, result)
    return result


def replace_by_result(node: fx.Node, result: Any) -> None:
    """Replace `node` by a node, or its getitems by the items of a structure of nodes. Items may be lists."""
    if isinstance(result, fx.Node):
        node.replace_all_uses_with(result)
    else:
        for user in list(node.users):
            replace_by_result(user, result[user.args[1]])
    node.graph.erase_node(node)


def _copied(
    graph_module: fx.GraphModule,
    body: fx.GraphModule,
    source: fx.Node,
    mapped: dict[fx.Node, fx.Node],
    mode: FakeTensorMode,
) -> fx.Node:
    copied = graph_module.graph.node_copy(source, mapped.__getitem__)
    if source.op == "get_attr":
        name = f"_decomposed_{copied.name}"
        graph_module.register_buffer(name, getattr(body, str(source.target)))
        copied.target = name
        copied.meta["val"] = mode.from_tensor(getattr(body, str(source.target)), static_shapes=True)
    return copied
