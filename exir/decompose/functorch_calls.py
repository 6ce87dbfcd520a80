# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Remove function transforms (`torch.vmap`, `torch.func.grad`, `torch.func.jvp`) from exported programs.

torch.export records a transform as calls that enter and leave it around the transformed operators. Tracing the
program again runs the transforms, and records only the resulting operators.
"""

from __future__ import annotations

import contextlib
import copy

import torch
from torch import fx
from torch.autograd import forward_ad
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from executorch.exir.decompose.call_body import inline_body, is_composite, traced_body
from executorch.exir.error import ExportError
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.pass_base import fake_mode_of

_MODULE = "torch._functorch."
_WAY_THAT_WORKS = (
    "Run the transform first: torch.export.export(make_fx(model)(*inputs), inputs), make_fx of "
    "torch.fx.experimental.proxy_tensor"
)


def without_functorch(program: ExportedProgram) -> ExportedProgram:
    """Return the program, or, if it has such calls, a traced copy that preserves composite operators.

    Raises `ExportError` if torch.export recorded a value inside a transform as a constant, so that the program would
    ignore an input, or if torch fails to trace the program again.
    """
    for name, constant in program.constants.items():
        if isinstance(constant, torch.Tensor) and torch._C._functorch.is_functorch_wrapped_tensor(constant):
            raise ExportError(
                "decomposition",
                None,
                f"torch.export recorded a value inside of torch.func.grad (or vjp) as the constant {name!r}, so that "
                f"the program ignores an input; this is a limit of torch.export. {_WAY_THAT_WORKS}",
            )
    nodes = [node for module in all_graph_modules(program.graph_module) for node in module.graph.nodes]
    calls = [node.target for node in nodes if _is_functorch(node.target)]
    if not calls:
        return program
    if _enters_forward_mode(calls):
        program = _without_composites(program)
    depth = torch._C._functorch.get_dynamic_layer_stack_depth()
    try:
        traced: ExportedProgram = program.run_decompositions({})
    except Exception as error:
        _leave_transforms(depth)
        why = str(error).partition("\n")[0]
        raise ExportError(
            "decomposition", None, f"torch cannot trace this program's transforms again: {why}. {_WAY_THAT_WORKS}"
        ) from error
    return traced


def _leave_transforms(depth: int) -> None:
    """Leave the transforms that a failed run entered: torch would nest later ones in them."""
    torch._C._functorch.pop_dynamic_layer_stack_and_undo_to_depth(depth)
    if forward_ad._current_level < 0:  # outside of the caller's `dual_level`
        with contextlib.suppress(RuntimeError):  # no level is entered
            torch._C._exit_dual_level(level=0)


def _is_functorch(target: object) -> bool:
    return str(getattr(target, "__module__", "")).startswith(_MODULE)


def _enters_forward_mode(calls: list[object]) -> bool:
    return any(getattr(target, "__name__", "") == "_enter_dual_level" for target in calls)


def _without_composites(program: ExportedProgram) -> ExportedProgram:
    """Return a copy of the program in which composite operators are decomposed: those that
    `ExportedProgram.run_decompositions` preserves, such as softmax, lose the tangents of forward-mode differentiation.
    """
    copied = copy.copy(program)
    copied._graph_module = copy.deepcopy(program.graph_module)
    mode = fake_mode_of(copied.graph_module)
    for module in all_graph_modules(copied.graph_module):
        for node in list(module.graph.nodes):
            if "val" in node.meta:
                node.meta["val"] = pytree.tree_map_only(torch.Tensor, _without_levels, node.meta["val"])
            if is_composite(node.target) and not _has_batched(node):
                inline_body(module, node, traced_body(node, {}, mode), mode)
        module.recompile()
    return copied


def _without_levels(value: torch.Tensor) -> torch.Tensor:
    """Return the tensor inside the wrappers of forward- and reverse-mode differentiation, which have its shape."""
    functorch = torch._C._functorch
    while functorch.is_gradtrackingtensor(value):
        value = functorch.get_unwrapped(value)
    return value


def _has_batched(node: fx.Node) -> bool:
    values = pytree.tree_leaves([source.meta.get("val") for source in (node, *node.all_input_nodes)])
    return any(isinstance(one, torch.Tensor) and torch._C._functorch.is_batchedtensor(one) for one in values)
