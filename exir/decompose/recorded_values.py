# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Refuse constants that torch.export recorded from its trace; they have no data."""

from __future__ import annotations

from torch._subclasses.fake_tensor import FakeTensor
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.exir.error import ExportError
from executorch.exir.graph_module import all_graph_modules


def _is_needed(value: Node) -> bool:
    """Return whether an output or a write depends on the value. A trace may leave other calls on it."""
    pending, seen = [value], {value}
    while pending:
        for user in pending.pop().users:
            if user.op == "output" or user.is_impure():
                return True
            if user not in seen:
                seen.add(user)
                pending.append(user)
    return False


def refuse_recorded_values(program: ExportedProgram) -> None:
    """Raise `ExportError` if the program needs a constant, its own or a subgraph's, which is a value of its trace.

    With strict=True, torch.export makes such constants of the `.data` of weights; torch would end the process when it
    traces the program again. It makes constants of subgraphs of tensors that the functions of a `while_loop`, `scan` or
    `map` take from their closure.
    """
    for node in program.graph.find_nodes(op="placeholder"):
        name = program.graph_signature.inputs_to_lifted_tensor_constants.get(node.name)
        if name is not None and isinstance(program.constants.get(name), FakeTensor) and _is_needed(node):
            raise ExportError(
                "decomposition",
                next(iter(node.users), node),
                f"torch.export recorded the constant '{name}' without data: `forward` reads the .data of a parameter. "
                "Read the parameter itself, or compute what follows from weights alone before the export",
            )
    for module in all_graph_modules(program.graph_module):
        if module is program.graph_module:
            continue
        for node in module.graph.find_nodes(op="get_attr"):
            if isinstance(getattr(module, str(node.target), None), FakeTensor):
                raise ExportError(
                    "decomposition",
                    node,
                    "torch.export recorded a tensor that the function of a while_loop, scan or map takes from its "
                    "closure as a constant without data; pass it as an operand (additional_inputs of "
                    "torch._higher_order_ops.while_loop), or export with strict=True",
                )
