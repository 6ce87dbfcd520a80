# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Run a planned graph of out variants with torch's kernels, as a reference for the runtime."""

from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram, export
from torch.export.graph_signature import InputKind
from torch.utils import _pytree as pytree

from executorch.exir import ExecutorchBackendConfig, memory, to_edge
from executorch.exir.tensor import ViewSpec, stride_from_dim_order


class _Interpreter(fx.Interpreter):
    """An alloc node gives an empty tensor, which out variants resize. A view shares its base's memory."""

    node: fx.Node

    def run_node(self, n: fx.Node) -> Any:
        self.node = n
        return super().run_node(n)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if target is memory.alloc:
            return torch.empty(0, dtype=self.node.meta["spec"].dtype)
        if target is memory.view:
            return self._view(*args)
        if target is torch.ops.higher_order.cond:
            pred, yes, no, operands = args
            return _Interpreter(yes if pred else no).run(*operands)
        returned = super().call_function(target, args, kwargs)
        return (
            kwargs["out"] if returned is None and "out" in kwargs else returned
        )  # operators that fill a list of tensors

    def _view(self, base: torch.Tensor, size: list[int]) -> torch.Tensor:
        spec = self.node.meta["spec"]
        if spec.is_dynamic_shape_tensor:
            return base.view(size)
        assert isinstance(spec, ViewSpec)
        base_spec = self.node.args[0].meta["spec"]
        inside = spec.byte_offset - getattr(base_spec, "byte_offset", 0)
        offset = base.storage_offset() + inside // base.element_size()
        return base.as_strided(spec.shape, stride_from_dim_order(spec.shape, spec.dim_order), offset)


def run_planned(program: ExportedProgram, *inputs: Any) -> list[Any]:
    """Return the flat outputs of one call. Updates buffers in the program's state_dict."""
    user = iter(pytree.tree_leaves(inputs))
    bound = []
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.USER_INPUT:
            bound.append(next(user))
        else:
            tensor_of_spec = program.state_dict.get(spec.target, program.constants.get(spec.target))
            bound.append(tensor_of_spec.detach() if isinstance(tensor_of_spec, torch.Tensor) else tensor_of_spec)
    with torch.no_grad():
        return pytree.tree_leaves(_Interpreter(program.graph_module).run(*bound))


def plan(model: torch.nn.Module, *inputs: Any, **export_options: Any) -> ExportedProgram:
    """Return the planned program of a model; its operators need no kernels."""
    edge = to_edge(export(model, inputs, **export_options))
    return edge.to_executorch(ExecutorchBackendConfig(check_target=False)).exported_program()


def call_targets(program: ExportedProgram) -> list[str]:
    """Return the targets of a program's calls, in order."""
    return [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
