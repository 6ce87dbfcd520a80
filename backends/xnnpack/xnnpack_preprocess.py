# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""XnnpackBackend: the ahead-of-time part of the backend, which compiles a partition to a payload."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import final

from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.converted_weights import product_of
from executorch.backends.xnnpack.lowering.fusion import fused_with, fusions
from executorch.backends.xnnpack.lowering.lowering import Fused, Lowering
from executorch.backends.xnnpack.operators.table import refusal, rule_of
from executorch.backends.xnnpack.partition.recomposition import RecomposedOperators
from executorch.backends.xnnpack.serialization.opened_payload import open_payload
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.debug_tools import DebugTools
from executorch.exir.backend.delegate.delegate_mapping import debug_handles
from executorch.exir.backend.partition.compute_precision import COMPUTE_PRECISION
from executorch.exir.format.named_data import NamedDataStore
from executorch.exir.graph_module import debug_handles_of
from executorch.exir.passes.state.external_constants_pass import delegate_file
from executorch.exir.schema import CompileSpec


@final
class XnnpackBackend(BackendDetails):
    """Compiles a partition to an XNNPACK graph. Constants go to the program's named data, equal ones once.

    `preprocess` raises RuntimeError, with node and reason, for a call that XNNPACK cannot compute.
    """

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        names = NamedDataStore()
        handles = debug_handles(edge_program.graph)
        edge_program = RecomposedOperators(edge_program).program
        fused, absorbed = fusions(edge_program)
        low = Lowering(edge_program, names, fused)
        low.define_inputs(edge_program.graph.find_nodes(op="placeholder"))
        for node in edge_program.graph.nodes:
            if node.op != "call_function" or node in absorbed or node.target is operator.getitem:
                continue
            rule = rule_of(node)
            rejection = refusal(node, edge_program)
            if rejection is not None:
                raise RuntimeError(f"XnnpackBackend cannot compile {node.name} ({node.target}): {rejection.reason}")
            assert rule is not None, "refusal() rejects operators without a rule"
            if product_of(edge_program, node) is not None:
                continue  # the product reads the integers directly
            low.start(node)
            low.writer.file = _file_of_constants(node)
            low.writer.full_precision = node.meta.get(COMPUTE_PRECISION) == "fp32"
            rule.emit(low, node)
        low.define_outputs()
        return PreprocessResult(
            processed_bytes=low.writer.payload(),
            debug_handle_map=_handles(handles, fused),
            data_store_output=names.get_named_data_store_output(),
        )

    @classmethod
    def debug_tools(cls) -> DebugTools:
        # The partitioner names this class as its backend, so its module imports this one.
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

        return DebugTools(open_payload, XnnpackPartitioner)


def _handles(handles: Sequence[int], fused: Mapping[Node, Fused]) -> dict[str, tuple[int, ...]]:
    """Part of an operator's name in the runtime → debug handles of all nodes fused into it.

    A runtime name is "Fully Connected (NC, F32) GEMM #1 [7]", where 7 is the first node's handle. handles: those of the
    whole partition.
    """
    handles_of_event: dict[str, tuple[int, ...]] = {f"[{handle}]": (handle,) for handle in handles}
    for node, together in fused.items():
        own = [debug_handles_of(member) for member in (node, *fused_with(node, together.result))]
        if own[0]:
            handles_of_event[f"[{own[0][0]}]"] = tuple(dict.fromkeys(handle for numbers in own for handle in numbers))
    return handles_of_event


def _file_of_constants(node: Node) -> str | None:
    """External file for the packed constants of an operator: the first that one of its constants names."""
    read = [source for operand in node.all_input_nodes for source in (operand, *_dequantized(operand))]
    return next((file for operand in read if (file := delegate_file(operand)) is not None), None)


def _dequantized(node: Node) -> list[Node]:
    return node.all_input_nodes[:1] if "dequantize" in str(node.target) else []
