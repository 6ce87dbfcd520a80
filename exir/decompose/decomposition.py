# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decompose ATen to Core ATen, with torch.export's decompositions and ours, which replace slow ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import cache

import torch
from torch._export.verifier import SpecViolationError
from torch._ops import HigherOrderOperator, OpOverload
from torch.export import ExportedProgram
from torch.export._remove_effect_tokens_pass import _remove_effect_tokens
from torch.export.decomp_utils import CustomDecompTable
from torch.export.graph_signature import InputKind
from torch.fx import Node

from executorch.exir.debug_handle_utils import FROM_NODE_KEY, node_source
from executorch.exir.decompose.aliased_buffers import use_one_input_for_each_buffer
from executorch.exir.decompose.call_body import Table
from executorch.exir.decompose.context_calls import inline_contexts
from executorch.exir.decompose.copied_state import convert_copied
from executorch.exir.decompose.free_layouts import free_composite_views, free_strided, free_views
from executorch.exir.decompose.graph_decomposition import decompose_graph, has_fixed_sizes
from executorch.exir.decompose.operators.affine_operators import affine_decompositions
from executorch.exir.decompose.operators.attention import ATTENTION_DECOMPOSITION
from executorch.exir.decompose.operators.chunked_losses import chunked_loss_decompositions
from executorch.exir.decompose.operators.extra_decompositions import REPLACED_DECOMPOSITIONS, extra_decompositions
from executorch.exir.decompose.operators.grouped_products import grouped_decompositions
from executorch.exir.decompose.operators.linalg_checks import check_in_kernels
from executorch.exir.decompose.operators.recurrent_layers import RECURRENT_DECOMPOSITIONS
from executorch.exir.decompose.operators.vision import vision_decompositions
from executorch.exir.error import ExportError
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.rewrite.program_copy import copy_program
from executorch.exir.rewrite.written_state import use_buffers_for_written_parameters

_NON_STRICT_ERROR = "expected compiled_fn to be GraphModule"
"""torch's error for programs of `torch.export.export(..., strict=False)` whose caches are written in place."""
_ALIAS_ERROR = "operator whose output has alias annotations"
"""torch's error for operators of packages such as torchaudio's filters, which write to an argument and return it."""
_UNTRACEABLE_ERRORS = ("FunctionalTensor on its own", "is not in the state dict", _NON_STRICT_ERROR)
"""torch's errors for subgraphs that read a value of another trace, and for constants in nested subgraphs."""


@cache
def _tables() -> tuple[dict[OpOverload, Callable[..., object]], dict[OpOverload, Callable[..., object]]]:
    """Return PyTorch's table to Core ATen, and our additions and replacements."""
    pytorch_table = dict(torch.export.default_decompositions().items())
    added = {op: rule for op, rule in extra_decompositions().items() if op not in pytorch_table}
    return pytorch_table, {**added, **REPLACED_DECOMPOSITIONS, **ATTENTION_DECOMPOSITION, **RECURRENT_DECOMPOSITIONS}


def decomposition_table(
    preserve: Iterable[OpOverload] = (), unroll_recurrent: bool = False
) -> dict[OpOverload, Callable[..., object]]:
    """Return PyTorch's table to Core ATen with our decompositions, without the operators to preserve."""
    preserved = set(preserve)
    table = {**_tables()[0], **_ours(unroll_recurrent)}
    return {op: rule for op, rule in table.items() if op not in preserved}


def _ours(unroll_recurrent: bool) -> dict[OpOverload, Callable[..., object]]:
    """Return our decompositions. Without those of recurrent layers, PyTorch's table unrolls the layers."""
    left_out = RECURRENT_DECOMPOSITIONS if unroll_recurrent else {}
    return {
        op: rule
        for op, rule in {
            **_tables()[1],
            **affine_decompositions(),
            **grouped_decompositions(),
            **chunked_loss_decompositions(),
            **vision_decompositions(),
        }.items()
        if op not in left_out
    }


def decompose(
    program: ExportedProgram, preserve: Iterable[OpOverload] = (), unroll_recurrent: bool = False
) -> ExportedProgram:
    """Return a functional program of Core ATen operators and `preserve`. It shares the weights of `program`.

    unroll_recurrent: unroll the steps of recurrent layers, as PyTorch does. By default, layers remain one call.
    Raises `ExportError` for nested control flow that neither torch nor `decompose_graph` supports.
    """
    decomposed = _decomposed(use_one_input_for_each_buffer(program), list(preserve), unroll_recurrent)
    use_buffers_for_written_parameters(decomposed)
    return decomposed


def _decomposed(program: ExportedProgram, kept: list[OpOverload], unroll_recurrent: bool) -> ExportedProgram:
    table = decomposition_table(kept, unroll_recurrent)
    rewritten = _rewritten(program, table, kept) if has_fixed_sizes(program) else None
    if rewritten is not None:
        return rewritten
    try:
        return _traced(program, kept, unroll_recurrent)
    except (RuntimeError, SpecViolationError, AssertionError) as error:
        if _ALIAS_ERROR in str(error):
            why = (
                "torch cannot make a program functional that calls an operator whose result is an argument that it "
                "writes; define an operator that returns new tensors, or compute the result with ATen operators"
            )
            raise ExportError("decomposition", _first_returning_argument(program), why) from error
        if not any(words in str(error) for words in _UNTRACEABLE_ERRORS):
            raise
        # With dynamic sizes, torch's trace comes first, because it shares the arithmetic on sizes.
        rewritten = _rewritten(program, table, kept)
        if rewritten is not None:
            return rewritten
        if _NON_STRICT_ERROR in str(error):
            why = (
                f"torch's run_decompositions cannot take the program ({error}); export it with strict=True, which works"
            )
            raise ExportError("decomposition", None, why) from error
        control = [node for module in all_graph_modules(program.graph_module) for node in module.graph.nodes]
        first = next((node for node in control if isinstance(node.target, HigherOrderOperator)), None)
        why = "torch cannot trace this nest of control flow; write to no view of state beside it, or nest less deeply"
        raise ExportError("decomposition", first, why) from error


def _first_returning_argument(program: ExportedProgram) -> Node | None:
    """Return the first call of an operator outside ATen that returns one of its arguments."""
    nodes: list[Node] = [node for module in all_graph_modules(program.graph_module) for node in module.graph.nodes]
    for node in nodes:
        op = node.target
        if isinstance(op, OpOverload) and op.namespace != "aten" and any(one.alias_info for one in op._schema.returns):
            return node
    return None


def _rewritten(program: ExportedProgram, table: Table, kept: list[OpOverload]) -> ExportedProgram | None:
    copied = _copy_with_history(program)
    if not decompose_graph(copied, table, kept):
        return None
    _check_in_kernels(copied)
    return copied


def _copy_with_history(program: ExportedProgram) -> ExportedProgram:
    """Copy the program. Calls record the calls of `program` as their source, which their decompositions inherit."""
    copied = copy_program(program)
    graphs = zip(all_graph_modules(program.graph_module), all_graph_modules(copied.graph_module), strict=True)
    for original_module, copied_module in graphs:
        for source, node in zip(original_module.graph.nodes, copied_module.graph.nodes, strict=True):
            if node.op == "call_function":
                node.meta[FROM_NODE_KEY] = [node_source(source, "to_edge")]
    inline_contexts(copied)
    return copied


def _check_in_kernels(program: ExportedProgram) -> None:
    for module in all_graph_modules(program.graph_module):
        if check_in_kernels(module.graph):
            module.recompile()


def _traced(program: ExportedProgram, kept: list[OpOverload], unroll_recurrent: bool) -> ExportedProgram:
    program = _copy_with_history(program)
    for module in all_graph_modules(program.graph_module):
        free_strided(module.graph)
        free_composite_views(module.graph)
        free_views(module.graph, _ours(unroll_recurrent).keys() - set(kept))
        convert_copied(module.graph)
    program.graph_module.recompile()
    with warnings.catch_warnings():
        # PyTorch itself calls its deprecated pytree function; users cannot avoid the warning.
        warnings.filterwarnings("ignore", message=r".*LeafSpec", category=FutureWarning)
        table = _table_to_trace_with(kept, unroll_recurrent)
        traced: ExportedProgram = program.run_decompositions(table)
    if any(spec.kind is InputKind.TOKEN for spec in traced.graph_signature.input_specs):
        # torch orders calls with effects (checks of linear algebra) by tokens; instructions of a program run in order.
        traced = _remove_effect_tokens(traced)
    _check_in_kernels(traced)
    return traced


def _table_to_trace_with(kept: list[OpOverload], unroll_recurrent: bool) -> CustomDecompTable:
    """Return `decomposition_table` in torch's type, which includes composite operators registered later."""
    table = torch.export.default_decompositions()
    table.update(_ours(unroll_recurrent))
    for op in kept:
        table.pop(op, None)
    return table
