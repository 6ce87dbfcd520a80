# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decompose a graph call by call, in place. Equal calls are traced once.

torch.export's `run_decompositions` traces the whole program twice, which takes most of the lowering time. It remains
the fallback for programs that `decompose_graph` refuses.
"""

from __future__ import annotations

import operator
from collections.abc import Collection

import torch
from torch import fx
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import ExportedProgram
from torch.export.decomp_utils import PRESERVED_ATEN_CIA_OPS
from torch.utils import _pytree as pytree

from executorch.exir.decompose.call_body import Table, inline_body, is_composite, traced_body
from executorch.exir.decompose.element_writes import select_scatter, write_as_slice
from executorch.exir.decompose.free_layouts import VIEWS, free_composite_views, free_strided, view_to_reshape
from executorch.exir.decompose.functional_calls import make_functional, updates_statistics
from executorch.exir.dialects.executorch_prim_ops import FUNCTIONS_OF_SEVERAL_PRIMS, PRIM_OF_PYTHON_FUNCTION
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.pass_base import fake_mode_of
from executorch.exir.rewrite.fake_values import computed_value
from executorch.exir.rewrite.layouts import same_layout
from executorch.exir.rewrite.node_rewrite import replace_by
from executorch.exir.rewrite.program_signature import sync_signature
from executorch.exir.rewrite.shared_sizes import share_sizes
from executorch.exir.rewrite.written_state import return_written_state, writable_state

# Composite operators that call operators to preserve: only a trace of the whole program can preserve those.
_OF_COMPOSITES = ("aten::lstm", "aten::gru", "aten::rnn_", "aten::instance_norm")
_SELECT_SCATTER, _SLICE_SCATTER = torch.ops.aten.select_scatter.default, torch.ops.aten.slice_scatter.default
_CONTROL_FLOW = tuple(getattr(torch.ops.higher_order, name) for name in ("cond", "map_impl", "while_loop", "scan"))
_NO_OPERATORS = frozenset({operator.getitem, *_CONTROL_FLOW, *PRIM_OF_PYTHON_FUNCTION, *FUNCTIONS_OF_SEVERAL_PRIMS})


def decompose_graph(program: ExportedProgram, table: Table, kept: Collection[OpOverload]) -> bool:
    """Decompose the operators of `table` except `kept`, in place.

    Return False, with a program to discard, for: calls that are neither operators nor control flow; writes to
    parameters, or to memory that is read through an alias; weights that are tensor subclasses.
    """
    if not _is_plain(program, table, kept):
        return False
    if not all(_decompose_one(program, module, table, kept) for module in all_graph_modules(program.graph_module)):
        return False
    sync_signature(program)
    return True


def _decompose_one(
    program: ExportedProgram, graph_module: fx.GraphModule, table: Table, kept: Collection[OpOverload]
) -> bool:
    decomposition = _Decomposition(graph_module, table, kept)
    _remove_calls(graph_module.graph, torch.ops.aten.detach_.default)  # it writes nothing
    free_strided(graph_module.graph)
    free_composite_views(graph_module.graph)
    # In-place calls come last: their rewrite must know which decomposed calls share memory.
    if not decomposition.run():
        return False
    written = make_functional(
        graph_module.graph, writable_state(program) if graph_module is program.graph_module else ()
    )
    if written is None:
        return False
    if written:
        return_written_state(program, written)
    if not decomposition.run():
        return False
    _remove_calls(graph_module.graph, torch.ops.aten.lift_fresh_copy.default)  # its constant is never written
    share_sizes(graph_module.graph)
    return True


def _remove_calls(graph: fx.Graph, identity: OpOverload) -> None:
    """Remove the calls of an identity operator, which torch.export inserts for constants."""
    for node in graph.find_nodes(op="call_function", target=identity):
        replace_by(node, node.args[0])


def _is_plain(program: ExportedProgram, table: Table, kept: Collection[OpOverload]) -> bool:
    tensors = [*program.state_dict.values(), *program.constants.values()]
    if not all(type(tensor) in (torch.Tensor, torch.nn.Parameter) for tensor in tensors):
        return False
    keeps_composites = any(is_composite(op) for op in kept)
    return all(
        _is_plain_node(node, table, keeps_composites)
        for module in all_graph_modules(program.graph_module)
        for node in module.graph.nodes
    )


def _is_plain_node(node: fx.Node, table: Table, keeps_composites: bool) -> bool:
    if node.op == "output":
        return True
    if node.op == "call_function" and node.target not in _NO_OPERATORS:
        if not isinstance(node.target, OpOverload) or updates_statistics(node):
            return False
        if keeps_composites and node.target not in table and node.target.name().startswith(_OF_COMPOSITES):
            return False
    return node.op in ("call_function", "get_attr", "placeholder")


def _is_fixed(value: object) -> bool:
    if isinstance(value, torch.Tensor):
        return all(isinstance(size, int) for size in value.shape)
    return value is None or isinstance(value, (int, float, bool, str, torch.dtype, torch.device))


def has_fixed_sizes(program: ExportedProgram) -> bool:
    """Return whether all sizes and scalars of the program are constants."""
    nodes = (node for module in all_graph_modules(program.graph_module) for node in module.graph.nodes)
    return all(_is_fixed(value) for node in nodes for value in pytree.tree_leaves(node.meta.get("val")))


class _Decomposition:
    """One sweep over a graph, with the bodies traced so far."""

    def __init__(self, graph_module: fx.GraphModule, table: Table, kept: Collection[OpOverload]) -> None:
        self._module = graph_module
        self._table = table
        self._writes_slices = table.get(_SELECT_SCATTER) is select_scatter and _SLICE_SCATTER not in table
        self._whole = {*kept, *PRESERVED_ATEN_CIA_OPS}
        self._mode: FakeTensorMode = fake_mode_of(graph_module)
        self._bodies: dict[object, fx.GraphModule | None] = {}
        self._stale: set[fx.Node] = set()

    def run(self) -> bool:
        """Decompose. Return False if the body of a call does not fit in its place."""
        for node in list(self._module.graph.nodes):
            if node.op != "call_function" or node._erased or "val" not in node.meta:
                continue
            if self._is_decomposable(node.target):
                if not self._replace(node):
                    return False
            elif node in self._stale and (node.target in _CONTROL_FLOW or not self._refresh(node)):
                return False
        return True

    def _is_decomposable(self, target: object) -> bool:
        if not isinstance(target, OpOverload) or target._schema.is_mutable:
            return False
        return target in self._table or (is_composite(target) and target not in self._whole)

    def _replace(self, node: fx.Node) -> bool:
        if self._writes_slices and node.target is _SELECT_SCATTER and write_as_slice(node, self._mode):
            return True
        body = self._body(node)
        if body is None:
            return False
        old = node.meta["val"]
        result = inline_body(self._module, node, body, self._mode)
        olds, news = (pytree.tree_leaves(value) for value in (old, result))
        if len(olds) != len(news):
            return False
        for before, module in zip(olds, news, strict=True):
            if isinstance(module, fx.Node) and not same_layout(before, module.meta["val"]):
                if before.dtype != module.meta["val"].dtype or _sizes(before) != _sizes(module.meta["val"]):
                    return False
                self._stale.update(module.users)
        return True

    def _body(self, node: fx.Node) -> fx.GraphModule | None:
        key = _key(node)
        if key not in self._bodies:
            body = traced_body(node, self._table, self._mode)
            self._bodies[key] = body if make_functional(body.graph) is not None else None
        return self._bodies[key]

    def _refresh(self, node: fx.Node) -> bool:
        """Recompute the value of a call whose operands have new strides. Return False if it does not support them."""
        try:
            value = computed_value(self._mode, node)
        except (RuntimeError, ValueError):
            return node.target in VIEWS and view_to_reshape(node) and self._replace(node)
        if not same_layout(value, node.meta["val"]):
            node.meta["val"] = value
            self._stale.update(node.users)
        return True


def _key(node: fx.Node) -> object:
    """Return a key that is equal for calls with equal bodies: operator, scalars, layouts of tensors."""
    inputs = node.all_input_nodes
    number = {source: index for index, source in enumerate(inputs)}
    arguments = fx.node.map_arg((node.args, dict(node.kwargs)), lambda source: ("input", number[source]))
    return (node.target, repr(arguments), tuple(_layout(source.meta["val"]) for source in inputs))


def _layout(value: object) -> object:
    if isinstance(value, torch.Tensor):
        return (value.dtype, _sizes(value), str(value.stride()), value.device)
    return repr(value) if not isinstance(value, (list, tuple)) else tuple(_layout(item) for item in value)


def _sizes(value: torch.Tensor) -> str:
    """Return sizes as text: comparing symbols would add guards."""
    return str(list(value.shape))
