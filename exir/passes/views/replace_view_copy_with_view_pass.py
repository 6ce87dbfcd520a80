# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace copies of a contiguous part of a tensor by views, which need neither memory nor time."""

from __future__ import annotations

import math
from typing import Any

from torch import fx
from torch.fx.node import Argument
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir import memory
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.operator.convert import is_written_argument
from executorch.exir.passes.graph_pass import GraphPass
from executorch.exir.passes.state.reinplace import WRITES_ITS_FIRST_ARGUMENT, written_placeholder
from executorch.exir.rewrite.layouts import is_contiguous
from executorch.exir.rewrite.node_rewrite import argument
from executorch.exir.tensor import TensorSpec, ViewSpec


class ReplaceViewCopyWithViewPass(GraphPass):
    """`view_copy`, and `select_copy`/`slice_copy` of a contiguous block, → `memory.view` with a ViewSpec.

    These copies stay:
    - outputs of a graph and copies of outputs, because the caller may provide the memory of outputs;
    - arguments of a call that writes to the base or to another part of it, because the runtime refuses operands and
      results that share bytes;
    - copies of constants, which constant folding computes.

    Helps: views take neither memory nor time.
    """

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            outputs = _returned(module)
            for node in list(module.graph.nodes):
                if node in outputs or not isinstance(node.target, EdgeOpOverload):
                    continue
                offset = _VIEWS[node.target.name()](node) if node.target.name() in _VIEWS else None
                if offset is not None and node.args[0] not in outputs and not _meets_its_base_in_a_write(node):
                    _make_view(node, offset)
                    modified = True
        return PassResult(graph_module, modified)


def _returned(graph_module: fx.GraphModule) -> set[fx.Node]:
    """Return the outputs of the graph and the bases of those that are views."""
    returned = set(graph_module.graph.output_node().all_input_nodes)
    for node in reversed(graph_module.graph.nodes):
        if node in returned and node.target is memory.view:
            returned.add(node.args[0])
    return returned


def _is_base(node: object) -> bool:
    if not isinstance(node, fx.Node) or not is_contiguous(node.meta.get("val")):
        return False
    spec = node.meta.get("spec")
    return isinstance(spec, TensorSpec) and not spec.const and not spec.is_dynamic_unbound_tensor


def _reshape_offset(node: fx.Node) -> int | None:
    """Return 0 if a view_copy can be a view, which needs a row-major operand and result."""
    if not is_contiguous(node.meta["val"]) or node.meta["spec"].is_dynamic_unbound_tensor:
        return None
    return 0 if _is_base(node.args[0]) else None


def _root(node: fx.Node) -> fx.Node:
    """Return the node that allocated a value's memory, through views and in-place operators."""
    while True:
        base = node.args[0] if node.target is memory.view else written_placeholder(node)
        if base is node or not isinstance(base, fx.Node):
            return node
        node = base


def _meets_its_base_in_a_write(node: fx.Node) -> bool:
    """Return whether a call has two arguments in this memory, one of them `node` or a view of it, and writes to one."""
    root = _root(node.args[0])  # type: ignore[arg-type]
    shown, waiting = {node}, [node]
    while waiting:
        for user in waiting.pop().users:
            same = [source for source in user.all_input_nodes if source in shown or _root(source) is root]
            if len(same) > 1 and not _written_nodes(user).isdisjoint(same):
                return True
            becomes_view = isinstance(user.target, EdgeOpOverload) and user.target.name() in _VIEWS
            if user not in shown and (user.target is memory.view or becomes_view):
                shown.add(user)
                waiting.append(user)
    return False


def _written_nodes(node: fx.Node) -> set[fx.Node]:
    """Return the arguments that a call writes to, including items of lists."""
    schema = getattr(node.target, "_schema", None)
    arguments = schema.arguments if schema is not None else ()
    written: list[Argument] = [
        value for value, entry in zip(node.args, arguments, strict=False) if is_written_argument(entry)
    ]
    if WRITES_ITS_FIRST_ARGUMENT in node.meta:
        written.append(node.args[0])
    nodes: set[fx.Node] = set()
    fx.node.map_arg(written, nodes.add)
    return nodes


def _block_offset(node: fx.Node, first: int) -> int | None:
    """Return the byte offset of the part that starts at index `first` of a dimension, or None if it is not contiguous.

    Also None for parts of inputs: the caller may bind their memory, and the runtime views only whole bound tensors.
    """
    base: Any = node.args[0]
    if _root(base).op == "placeholder":
        return None
    dim = argument(node, "dim")
    sizes = list(base.meta["val"].shape)
    if not all(isinstance(size, int) for size in sizes) or not is_contiguous(node.meta["val"]):
        return None
    dim %= len(sizes)
    if any(size != 1 for size in sizes[:dim]):
        return None
    offset: int = first * math.prod(sizes[dim + 1 :]) * int(base.meta["val"].element_size())
    return offset


def _select_offset(node: fx.Node) -> int | None:
    index = argument(node, "index")
    if not _is_base(node.args[0]) or not isinstance(index, int):
        return None
    size = node.args[0].meta["val"].shape[argument(node, "dim")]  # type: ignore[union-attr]
    return _block_offset(node, index % size) if isinstance(size, int) else None


def _slice_offset(node: fx.Node) -> int | None:
    start, step = argument(node, "start") or 0, argument(node, "step")
    if not _is_base(node.args[0]) or not isinstance(start, int) or step != 1:
        return None
    if not all(isinstance(length, int) and length > 0 for length in node.meta["val"].shape):
        return None  # a view of a part has fixed sizes
    size = node.args[0].meta["val"].shape[argument(node, "dim")]  # type: ignore[union-attr]
    if not isinstance(size, int):
        return None
    return _block_offset(node, max(start + size, 0) if start < 0 else min(start, size))


_VIEWS = {
    "aten::view_copy": _reshape_offset,
    "aten::select_copy.int": _select_offset,
    "aten::slice_copy.Tensor": _slice_offset,
}


def _make_view(node: fx.Node, byte_offset: int) -> None:
    base: Any = node.args[0]
    old = node.meta["spec"]
    view = ViewSpec(base.meta["spec"], old.shape, old.dim_order, byte_offset)
    view.shape_dynamism = old.shape_dynamism
    view.symbolic_shape = old.symbolic_shape
    is_view = node.target.name() == "aten::view_copy"  # type: ignore[union-attr]
    node.target = memory.view
    node.args = (base, node.args[1] if is_view else list(old.shape))
    node.kwargs = {}
    _share(node, old, view)


def _share(node: fx.Node, old: TensorSpec, view: ViewSpec) -> None:
    """Set the view's spec on the node, and on users that share the old spec (the output node)."""
    node.meta["spec"] = view
    for user in node.users:
        if user.meta.get("spec") is old:
            user.meta["spec"] = view
