# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""XnnpackPartitioner: everything that XNNPACK computes exactly, in the largest partitions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import operator_of, rank
from executorch.backends.xnnpack.operators.table import refusal
from executorch.backends.xnnpack.partition.config.xnnpack_config import ConfigPrecisionType, XNNPartitionerConfig
from executorch.backends.xnnpack.partition.selection import Selection
from executorch.backends.xnnpack.partition.shared_quantization import layers_of_one_operand
from executorch.backends.xnnpack.partition.whole_layers import WholeLayers
from executorch.backends.xnnpack.partition.why_in_float import why_in_float
from executorch.backends.xnnpack.xnnpack_preprocess import XnnpackBackend
from executorch.exir.backend.canonical_partitioners.largest_partitions import largest_partitions
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.partition.constant_tagging import is_constant_data, tag_constant_data
from executorch.exir.backend.partition.float_fallback import note_in_float
from executorch.exir.backend.partition.partition_report import WhyNoPartition
from executorch.exir.backend.partition.subgraph_programs import programs_of
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult

_WHOLE = [
    torch.ops.aten.linear.default,
    torch.ops.aten.max_pool2d.default,
    torch.ops.aten.prelu.default,
    torch.ops.aten.upsample_bilinear2d.vec,
    torch.ops.aten.upsample_nearest2d.vec,
    torch.ops.aten.hardswish.default,
    torch.ops.aten.copysign.Tensor,
    torch.ops.aten.pixel_shuffle.default,
    torch.ops.aten.matmul.default,
]
_PRECISIONS = ("fp32", "bf16")
_WHOLE_IF_TAKEN = [torch.ops.aten.softplus.default, torch.ops.aten.mish.default]


def _is_wanted_whole(node: Node, program: ExportedProgram) -> bool:
    """What XNNPACK would not take is better decomposed before anything is partitioned."""
    if node.target in _WHOLE_IF_TAKEN:
        return refusal(node, program) is None
    return "matmul" not in str(node.target) or all(
        operand.meta["val"].dim() > 1 and operand.meta["val"].is_floating_point() for operand in node.all_input_nodes
    )


def _untag_linear_weights(program: ExportedProgram) -> None:
    """Leave float32 weights and biases of delegated linear layers to the program."""
    for node in program.graph.nodes:
        if node.op != "call_function" or operator_of(node) != "aten.linear.default" or refusal(node, program):
            continue
        weights = [operand for operand in node.args[1:3] if isinstance(operand, Node)]
        is_plain = all(is_constant_data(program, each) for each in weights) and rank(node.all_input_nodes[0]) > 1
        if "delegation_tag" in node.meta and is_plain and weights[0].meta["val"].dtype == torch.float32:
            for each in weights:
                each.meta.pop("delegation_tag", None)


class XnnpackPartitioner(Partitioner):
    """Tags what XNNPACK computes exactly in float32, in float16 and bfloat16 with float32 in between, and quantized
    graphs within one quantum.

    configs: the operators that are taken, as classes of `partition.config`; None: all. What quantizes for them is taken
    with them. config_precisions: whether numbers, integers, rows quantized while running are taken; None: all.
    per_op_mode: every operator is a delegate of its own, with what quantizes for it, to compare results node by node.
    verbose: the reason of every refusal is logged at debug level by a logger that lets it through.
    force_non_static_weights_for_f32_linear: float32 weights and biases of whole linear layers stay in the program, as
    inputs of the delegate, so that several delegates or LoRA adapters can use the same ones. XNNPACK then packs nothing
    ahead of time. Layers that `to_edge` has decomposed keep constant weights.
    force_fp32_dynamic_linear: the older name of the same.
    compute_precision: the precision that products of float32 values (linear layers, convolutions, matrix products) may
    round their factors to where the processor multiplies those faster: "fp32" or "bf16". Sums, results
    and all other operators stay float32. An option of the same name changes it when the program is loaded. ValueError:
    another precision.
    """

    def __init__(
        self,
        configs: Sequence[type[XNNPartitionerConfig]] | None = None,
        config_precisions: ConfigPrecisionType | Sequence[ConfigPrecisionType] | None = None,
        per_op_mode: bool = False,
        verbose: bool = False,
        *,
        force_non_static_weights_for_f32_linear: bool = False,
        force_fp32_dynamic_linear: bool = False,
        compute_precision: str = "fp32",
    ) -> None:
        super().__init__()
        if compute_precision not in _PRECISIONS:
            raise ValueError(f"compute_precision must be one of {', '.join(_PRECISIONS)}; found {compute_precision!r}")
        self._weights_are_inputs = force_non_static_weights_for_f32_linear or force_fp32_dynamic_linear
        self._names = None if configs is None else {each.target_name for each in configs}
        self._precisions = (
            [config_precisions] if isinstance(config_precisions, ConfigPrecisionType) else config_precisions
        )
        self._per_op_mode = per_op_mode
        self._logger = logging.getLogger(__name__)
        if verbose:
            self._logger = self._logger.getChild("verbose")
            self._logger.setLevel(logging.DEBUG)
        # ExecuTorch 1.4 takes no notice of it, and programs without it have the bytes that they had.
        specs = [] if compute_precision == "fp32" else [CompileSpec("compute_precision", compute_precision.encode())]
        self._delegation = DelegationSpec(XnnpackBackend.__name__, specs)

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        return [*_WHOLE, *_WHOLE_IF_TAKEN], lambda node: _is_wanted_whole(node, ep)

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        tags: dict[str, DelegationSpec] = {}
        for program in programs_of(exported_program):
            for nodes in self._partitions(program):
                tag = f"xnnpack_{len(tags)}"
                tags[tag] = self._delegation
                for node in nodes:
                    node.meta["delegation_tag"] = tag
        tag_constant_data(exported_program)
        if self._weights_are_inputs:
            for program in programs_of(exported_program):
                _untag_linear_weights(program)
        return PartitionResult(exported_program, tags)

    def _partitions(self, program: ExportedProgram) -> list[list[Node]]:
        """Of the program, or of a graph that its control flow runs."""
        why, layers = WhyNoPartition(self._logger), WholeLayers(program)
        program = layers.program
        selection = Selection(program, self._names, self._precisions)

        def is_supported(node: Node) -> bool:
            if node.op != "call_function":
                return False
            reason = refusal(node, program) or selection.refusal(node)
            if reason is not None:
                for piece in layers.pieces_of(node):
                    why(piece, reason)
            return reason is None

        found = largest_partitions(program.graph, is_supported, layers_of_one_operand(program.graph))
        groups = [group for nodes in found for group in selection.apart(nodes)] if self._per_op_mode else found
        reasons = [item for group in groups for item in why_in_float(program, group).items()]
        note_in_float({piece: reason for node, reason in reasons for piece in layers.pieces_of(node)})
        return [[piece for node in nodes for piece in layers.pieces_of(node)] for nodes in groups]


class XnnpackFloatingPointPartitioner(XnnpackPartitioner):
    """Takes what is computed on numbers alone."""

    def __init__(self) -> None:
        super().__init__(config_precisions=ConfigPrecisionType.FP32)


class XnnpackDynamicallyQuantizedPartitioner(XnnpackPartitioner):
    """Takes linear layers whose operands are quantized while running, and nothing else."""

    def __init__(self) -> None:
        super().__init__(config_precisions=ConfigPrecisionType.DYNAMIC_QUANT)
