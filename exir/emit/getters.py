# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Methods that return a constant (ExecuTorch's config methods)."""

import torch
from torch.utils._pytree import tree_flatten, treespec_dumps

from executorch.exir.emit.arguments import scalar
from executorch.exir.emit.state import EmitOptions, MethodState, ProgramState
from executorch.exir.emit.tensors import constant_tensor
from executorch.exir.error import ExportError
from executorch.exir.schema import Chain, ContainerMetadata, ExecutionPlan


def emit_getter(name: str, value: object, program: ProgramState) -> ExecutionPlan:
    """Emit a method without inputs that returns `value`: scalars, strings, dtypes and tensors in containers.

    Raises ExportError for any other type.
    """
    leaves, spec = tree_flatten(value)
    state = MethodState(program, EmitOptions())
    for leaf in leaves:
        try:
            if isinstance(leaf, torch.Tensor):
                constant_tensor(state, leaf)
            else:
                state.fresh(scalar(leaf))
        except ValueError as error:
            raise ExportError("emit", f"constant method {name!r}", str(error)) from error
    return ExecutionPlan(
        name=name,
        container_meta_type=ContainerMetadata("", treespec_dumps(spec)),
        values=state.values,
        inputs=[],
        outputs=list(range(len(state.values))),
        chains=[Chain([], [], [])],
        operators=[],
        delegates=[],
        non_const_buffer_sizes=[0],
    )
