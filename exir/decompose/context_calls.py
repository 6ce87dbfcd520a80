# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Inline the subgraphs that torch.export makes for `torch.no_grad()` and for `torch.autocast(..., enabled=False)`.

    y = wrap_with_autocast("cpu", None, False, None, submod, x)  ─▶  y = sin(x)          submod: sin(x)

A program without such calls is decomposed call by call, also if a subgraph writes to a buffer, where torch's
`run_decompositions` fails.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import fx
from torch.export import ExportedProgram

from executorch.exir.decompose.call_body import replace_by_result
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.rewrite.program_copy import copy_program
from executorch.exir.rewrite.program_signature import sync_signature

_CHECK = torch.ops.aten._assert_tensor_metadata.default
_AUTOCAST = torch.ops.higher_order.wrap_with_autocast
# Operator → the position of the subgraph among its arguments. The subgraph's own arguments follow it.
_SUBGRAPH_OF: dict[object, int] = {torch.ops.higher_order.wrap_with_set_grad_enabled: 1, _AUTOCAST: 4}
_ENTER, _EXIT = torch.amp.autocast_mode._enter_autocast, torch.amp.autocast_mode._exit_autocast


def without_autocast_marks(program: ExportedProgram) -> ExportedProgram:
    """Return the program, or a copy without the calls that enter and leave `torch.autocast`.

    torch.export records these calls instead of a subgraph where control flow is inside of the context. A context that
    casts is traced again, which records the casts.
    """
    modules = list(all_graph_modules(program.graph_module))
    marks = [node for module in modules for node in module.graph.nodes if node.target is _ENTER]
    if not marks:
        return program
    copied = copy_program(program)
    if any(_casts(node) for node in marks):
        _remove_calls(copied, _CHECK)
        traced: ExportedProgram = copied.run_decompositions({})
        return traced
    _remove_calls(copied, _EXIT)
    _remove_calls(copied, _ENTER)
    return copied


def inline_contexts(program: ExportedProgram) -> None:
    """Inline the contexts of a program in place, unless one casts: torch casts operands when it traces the program.

    Then drop the checks of dtypes, since a strict export records the dtypes before the casts.
    """
    modules = list(all_graph_modules(program.graph_module))
    if any(_casts(node) for module in modules for node in module.graph.nodes):
        _remove_calls(program, _CHECK)
        return
    inlined = [_inline_in(module) for module in modules]
    if any(inlined):
        sync_signature(program)


def _remove_calls(program: ExportedProgram, target: Callable[..., object]) -> None:
    for module in all_graph_modules(program.graph_module):
        for call in module.graph.find_nodes(op="call_function", target=target):
            module.graph.erase_node(call)
        module.recompile()


def _casts(node: fx.Node) -> bool:
    if node.target not in (_AUTOCAST, _ENTER):
        return False
    device, _, is_enabled = node.args[:3]
    return bool(is_enabled) and device == "cpu"


def _inline_in(graph_module: fx.GraphModule) -> bool:
    """Inline the contexts of one graph, and those inside them. Return whether there were any."""
    nodes = graph_module.graph.nodes
    has_contexts = False
    while (context := next((node for node in nodes if node.target in _SUBGRAPH_OF), None)) is not None:
        has_contexts = True
        _inline(graph_module, context)
    if has_contexts:
        graph_module.recompile()
    return has_contexts


def _inline(graph_module: fx.GraphModule, context: fx.Node) -> None:
    graph, position = graph_module.graph, _SUBGRAPH_OF[context.target]
    reference = context.args[position]
    assert isinstance(reference, fx.Node)
    name = str(reference.target)
    body: fx.GraphModule = getattr(graph_module, name)
    placeholders = body.graph.find_nodes(op="placeholder")
    mapped = dict(zip(placeholders, context.args[position + 1 :], strict=True))
    with graph.inserting_before(context):
        results = graph.graph_copy(body.graph, mapped)
    for source in body.graph.find_nodes(op="get_attr"):
        copied = mapped[source]
        assert isinstance(copied, fx.Node)
        copied.target = f"{name}_{source.target}"
        setattr(graph_module, copied.target, getattr(body, source.target))
    replace_by_result(context, results)
    if not reference.users:
        graph.erase_node(reference)
        delattr(graph_module, name)
