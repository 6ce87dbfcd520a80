# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replaces views by reshapes before a program is traced again.

A view is legal for the strides that torch.export saw. A decomposition of ours may give a tensor other strides: torch's
attention returns (batch, time, heads, width) in memory, ours is contiguous. Then the view fails, and a reshape copies.
"""

from __future__ import annotations

import torch
from torch import fx
from torch._ops import OpOverload
from torch.export import ExportedProgram

from executorch.exir.backend.program_copy import copy_program
from executorch.exir.graph_module import all_graph_modules

_aten = torch.ops.aten


def views_to_reshapes(program: ExportedProgram) -> ExportedProgram:
    """Return a copy of the program whose views are reshapes, except views that something writes to."""
    copied = copy_program(program)
    for module in all_graph_modules(copied.graph_module):
        for node in module.graph.find_nodes(op="call_function", target=_aten.view.default):
            if not _is_written(node):
                node.target = _aten.reshape.default
    return copied


def _is_written(view: fx.Node) -> bool:
    """Whether an operator writes to its arguments among those that read the view, or views of it."""
    waiting, seen = [view], {view}
    while waiting:
        for user in waiting.pop().users:
            if not isinstance(user.target, OpOverload):
                continue
            schema = user.target._schema
            if schema.is_mutable:
                return True
            is_view = any(argument.alias_info is not None for argument in schema.arguments)
            if is_view and user not in seen:
                seen.add(user)
                waiting.append(user)
    return False
