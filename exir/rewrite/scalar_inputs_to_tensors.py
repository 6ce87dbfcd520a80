# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace dynamic scalar inputs by 0-dimensional tensors, from which the program reads the scalar.

A scalar input of a program is a fixed value; only tensor inputs can change between executions.
"""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import SymBoolArgument, SymFloatArgument, SymIntArgument, TensorArgument
from torch.fx import Node

from executorch.exir.dialects._ops import ops
from executorch.exir.pass_base import fake_mode_of

_DTYPES = {SymIntArgument: torch.int64, SymFloatArgument: torch.float64, SymBoolArgument: torch.bool}


def scalar_inputs_to_tensors(program: ExportedProgram) -> None:
    """Make int64, float64 and bool tensors of the symbolic inputs that a node reads."""
    placeholders = {node.name: node for node in program.graph.find_nodes(op="placeholder")}
    for spec in program.graph_signature.input_specs:
        dtype = _DTYPES.get(type(spec.arg))
        if dtype is None or not placeholders[spec.arg.name].users:
            continue
        node = placeholders[spec.arg.name]
        number = _read(program, node, dtype)
        spec.arg = TensorArgument(name=node.name)
        for output in program.graph_signature.output_specs:
            if getattr(output.arg, "name", None) == node.name:
                output.arg = type(output.arg)(name=number.name)


def _read(program: ExportedProgram, node: Node, dtype: torch.dtype) -> Node:
    first = next(node for node in program.graph.nodes if node.op != "placeholder")
    target: object = ops.edge.aten._local_scalar_dense.default
    with program.graph.inserting_before(first):
        number: Node = program.graph.call_function(target, (node,))
    number.meta = dict(node.meta)
    node.replace_all_uses_with(number, delete_user_cb=lambda user: user is not number)
    with fake_mode_of(program.graph_module):
        node.meta["val"] = torch.empty((), dtype=dtype)
    return number
