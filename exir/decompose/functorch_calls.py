# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Remove function transforms (`torch.vmap`, `torch.func.grad`, `torch.func.jvp`) from exported programs.

torch.export records a transform as calls that enter and leave it around the transformed operators. Tracing the
program again runs the transforms, and records only the resulting operators.
"""

from __future__ import annotations

import torch
from torch.export import ExportedProgram

from executorch.exir.error import ExportError
from executorch.exir.graph_module import all_graph_modules

_MODULE = "torch._functorch."


def without_functorch(program: ExportedProgram) -> ExportedProgram:
    """Return the program, or, if it has such calls, a traced copy that preserves composite operators.

    Raises `ExportError` if torch.export recorded a value inside a transform as a constant: the program would ignore
    an input.
    """
    for name, constant in program.constants.items():
        if isinstance(constant, torch.Tensor) and torch._C._functorch.is_functorch_wrapped_tensor(constant):
            raise ExportError(
                "decomposition",
                None,
                f"torch.export recorded a value inside of torch.func.grad (or vjp) as the constant {name!r}, so that "
                "the program ignores an input; this is a limit of torch.export. Run the transform first: "
                "torch.export.export(make_fx(model)(*inputs), inputs), make_fx of torch.fx.experimental.proxy_tensor",
            )
    targets = (
        node.target
        for module in all_graph_modules(program.graph_module)
        for node in module.graph.nodes
        if node.op == "call_function"
    )
    if not any(str(getattr(target, "__module__", "")).startswith(_MODULE) for target in targets):
        return program
    traced: ExportedProgram = program.run_decompositions({})
    return traced
