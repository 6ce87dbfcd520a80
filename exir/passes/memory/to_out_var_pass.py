# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace operators by their out variants, with explicit allocations of their results."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir import memory
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.error import ExportError, VerificationError
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.operator.convert import find_out_variant, out_argument_names
from executorch.exir.passes.graph_pass import GraphPass
from executorch.exir.passes.memory.spec_prop_pass import SpecPropPass, make_spec
from executorch.exir.passes.state.reinplace import WRITES_ITS_FIRST_ARGUMENT

# Operators without an out variant that the runtime calls: they return scalars, or write to one of their arguments.
_NO_OUT_NAMESPACES = ("executorch_prim",)
_NO_OUT_NAMES = (
    "aten::sym_size.int",
    "aten::sym_stride.int",
    "aten::sym_storage_offset",
    "aten::sym_numel",
    "aten::_local_scalar_dense",
    "aten::copy_",
    "aten::index_put_",
)


class ToOutVarPass(GraphPass):
    """`y = op(x)` → `buffer = alloc(…); y = op.out(x, out=buffer)`.

    ignore_to_out_var_failure: leave operators without an out variant in the graph instead of raising an error.
    Raises `VerificationError` that lists every operator without an out variant.
    """

    def __init__(self, ignore_to_out_var_failure: bool = False) -> None:
        self.ignore_to_out_var_failure = ignore_to_out_var_failure

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        missing: list[tuple[fx.Node, str]] = []
        graphs = list(all_graph_modules(graph_module))
        if not any("spec" in node.meta for module in graphs for node in module.graph.nodes):
            SpecPropPass()(graph_module)  # users may run only this pass, on a graph without specs
        for module in graphs:
            for node in list(module.graph.nodes):
                if node.op == "call_function" and isinstance(node.target, (OpOverload, EdgeOpOverload)):
                    _convert(node, missing)
        if missing and not self.ignore_to_out_var_failure:
            raise VerificationError("to out variant", [(node, why) for node, why in missing])
        return PassResult(graph_module, True)


def _convert(node: fx.Node, missing: list[tuple[fx.Node, str]]) -> None:
    op: OpOverload = node.target._op if isinstance(node.target, EdgeOpOverload) else node.target  # type: ignore[assignment]
    if op.namespace in _NO_OUT_NAMESPACES or op.name() in _NO_OUT_NAMES:
        node.target = op
        return
    if out_argument_names(op) or not op._schema.returns:  # without returns, the operator writes to its arguments
        node.target = op
        return
    variant = find_out_variant(op)
    if variant is None:
        missing.append((node, f"{op.name()} has no out variant registered; define one in its torch.library"))
        return
    node.kwargs = _out_kwargs(node, op, variant)
    node.target = variant


def _out_kwargs(node: fx.Node, op: OpOverload, variant: OpOverload) -> dict[str, Any]:
    names = out_argument_names(variant)
    accepted = {item.name for item in variant._schema.arguments}
    kwargs: dict[str, Any] = {name: value for name, value in node.kwargs.items() if name in accepted}
    values, specs = node.meta["val"], node.meta["spec"]
    if len(op._schema.returns) == 1:
        values, specs = (values,), (specs,)
    if WRITES_ITS_FIRST_ARGUMENT in node.meta:
        return {**kwargs, names[0]: node.args[0]}
    for name, value, spec in zip(names, values, specs, strict=True):
        kwargs[name] = _alloc_empty(node) if value is None else _alloc(node, value, spec)
    if any(value is None for value in values):
        pairs = zip(names, values, specs, strict=True)
        node.meta["spec"] = tuple(kwargs[name].meta["spec"] if value is None else spec for name, value, spec in pairs)
    return kwargs


def _alloc_empty(node: fx.Node) -> fx.Node:
    """Return an empty allocation for a result that the call's output mask excludes; the kernel does not write it."""
    operands = (leaf.meta.get("val") for leaf in node.all_input_nodes)
    source = next(value for value in operands if isinstance(value, torch.Tensor))
    value = source.new_empty((0,))
    empty: fx.Node = _alloc(node, value, make_spec(value))
    return empty


def _alloc(node: fx.Node, value: object, spec: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_alloc(node, one, one_spec) for one, one_spec in zip(value, spec, strict=True)]
    if not isinstance(value, torch.Tensor):
        raise ExportError("to out variant", node, f"a result of type {type(value).__name__} cannot be allocated")
    with node.graph.inserting_before(node):
        alloc = node.graph.call_function(memory.alloc, ((tuple(spec.shape), value.dtype),))
    alloc.meta = {"val": value, "spec": spec}
    return alloc
