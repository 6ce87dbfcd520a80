# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace error checks of linear algebra by the kernel's own check (`check_errors=True`).

`torch.linalg.inv` is `linalg_inv_ex`, then `_linalg_check_errors` of its second result. As in eager, a singular
matrix stops the execution.
"""

from __future__ import annotations

import operator

import torch
from torch.fx import Graph, Node

_CHECK = torch.ops.aten._linalg_check_errors.default


def check_in_kernels(graph: Graph) -> bool:
    """Move each check into the call of the factorization, in place. Return whether there was one."""
    modified = False
    for node in list(graph.nodes):
        if node.target is not _CHECK:
            continue
        info = node.args[0]
        source = info.args[0] if isinstance(info, Node) and info.target is operator.getitem else None
        schema = getattr(getattr(source, "target", None), "_schema", None)
        arguments = schema.arguments if schema is not None else ()
        if isinstance(source, Node) and any(argument.name == "check_errors" for argument in arguments):
            source.kwargs = {**source.kwargs, "check_errors": True}
            graph.erase_node(node)
            modified = True
    return modified
