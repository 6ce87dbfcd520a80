# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Set `node.meta["spec"]`: the TensorSpecs of a node's values, in the structure of its `val`."""

from __future__ import annotations

import operator

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx.passes.infra.pass_base import PassResult
from torch.utils import _pytree as pytree

from executorch.exir.graph_module import all_graph_modules
from executorch.exir.pass_base import ExportPass
from executorch.exir.passes.state.reinplace import written_placeholder
from executorch.exir.tensor import TensorSpec


def make_spec(x: object, const: bool = False) -> TensorSpec | None:
    """Return the spec of a fake tensor, None for any other value."""
    if not isinstance(x, torch.Tensor):
        return None
    if any(isinstance(step, int) and step == 0 for step in x.stride()):
        # The tensor overlaps itself; the copy that is stored is contiguous.
        x = torch.empty(x.shape, dtype=x.dtype, device="meta")
    spec = TensorSpec.from_tensor(x)
    spec.const = const
    return spec


class SpecPropPass(ExportPass):
    """Sets specs. Nodes that denote the same value (getitem, output, in-place operators) share its spec."""

    def __call__(self, graph_module: fx.GraphModule) -> PassResult:
        self.propagate(graph_module, set())
        return PassResult(graph_module, True)

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        return self(graph_module)

    def update_placeholder_tensor_specs(self, exported_program: ExportedProgram, graph_module: fx.GraphModule) -> None:
        """Mark the specs of parameters, constants and read-only buffers as constant."""
        constants = constant_names(exported_program)
        for node in graph_module.graph.nodes:
            if node.op == "placeholder" and node.name in constants and node.meta.get("spec") is not None:
                node.meta["spec"].const = True

    def propagate(self, graph_module: fx.GraphModule, constants: set[str]) -> None:
        """Set specs in all graphs. Placeholders of the outermost graph named in `constants` are constant."""
        for module in all_graph_modules(graph_module):
            for node in module.graph.nodes:
                if node.op == "output":
                    node.meta["spec"] = fx.node.map_arg(node.args[0], lambda arg: arg.meta.get("spec"))
                elif node.target is operator.getitem:
                    node.meta["spec"] = node.args[0].meta["spec"][node.args[1]]
                elif node.op == "call_function" and written_placeholder(node) is not node:
                    node.meta["spec"] = written_placeholder(node).meta["spec"]
                elif node.op == "get_attr" and "val" not in node.meta:
                    _attribute_spec(module, node)
                else:
                    const = node.op == "get_attr" or (module is graph_module and node.name in constants)
                    node.meta["spec"] = pytree.tree_map(
                        lambda value, c=const: make_spec(value, c), node.meta.get("val")
                    )


def _attribute_spec(graph_module: fx.GraphModule, node: fx.Node) -> None:
    attribute = getattr(graph_module, str(node.target), None)
    node.meta["spec"] = make_spec(attribute, const=True)


def constant_names(program: ExportedProgram) -> set[str]:
    """Return the names of a program's placeholders for data that the method never writes."""
    written = set(program.graph_signature.buffers_to_mutate.values())
    written |= set(getattr(program.graph_signature, "parameters_to_mutate", {}).values())
    kinds = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
    return {
        spec.arg.name
        for spec in program.graph_signature.input_specs
        if spec.kind in kinds and spec.target not in written
    }
