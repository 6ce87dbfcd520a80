# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""XnnpackPartitioner: partitions of maximum size with every operator that XNNPACK computes exactly."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import is_static, operator_of, rank
from executorch.backends.xnnpack.operators.table import refusal
from executorch.backends.xnnpack.partition.boolean_nodes import idle_booleans, is_boolean
from executorch.backends.xnnpack.partition.config import ALL_PARTITIONER_CONFIGS as ALL_PARTITIONER_CONFIGS
from executorch.backends.xnnpack.partition.config.xnnpack_config import ConfigPrecisionType, XNNPartitionerConfig
from executorch.backends.xnnpack.partition.float_fallback import arithmetic_of
from executorch.backends.xnnpack.partition.product_precision import is_float32_product, products_to_keep
from executorch.backends.xnnpack.partition.recomposition import RecomposedOperators
from executorch.backends.xnnpack.partition.selection import Selection
from executorch.backends.xnnpack.partition.shared_quantization import layers_of_one_operand
from executorch.backends.xnnpack.xnnpack_preprocess import XnnpackBackend
from executorch.exir.backend.canonical_partitioners.largest_partitions import largest_partitions
from executorch.exir.backend.partition.compute_precision import note_compute_precision
from executorch.exir.backend.partition.constant_tagging import is_constant_data, tag_constant_data
from executorch.exir.backend.partition.float_fallback import note_float_fallback
from executorch.exir.backend.partition.partition_report import WhyNoPartition
from executorch.exir.backend.partition.subgraph_programs import programs_of
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.decompose.call_body import aten_operator
from executorch.exir.schema import CompileSpec

_NOT_DECOMPOSED = [
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
_KEEP_IF_SUPPORTED = [torch.ops.aten.softplus.default, torch.ops.aten.mish.default]
_RESIZES = (torch.ops.aten.upsample_bilinear2d.vec, torch.ops.aten.upsample_nearest2d.vec)


def _keeps_composed(node: Node, program: ExportedProgram) -> bool:
    """Return whether an operator stays composed: decompose it before partitioning if XNNPACK would refuse it."""
    operator = aten_operator(node)
    if operator in _KEEP_IF_SUPPORTED:
        return refusal(node, program) is None
    if operator in _RESIZES:  # of a static size, the decomposition reads constant places
        sizes = [*node.all_input_nodes[0].meta["val"].shape[2:], *node.meta["val"].shape[2:]]
        return not is_static(sizes) or refusal(node, program) is None
    return "matmul" not in str(node.target) or all(
        operand.meta["val"].dim() > 1 and operand.meta["val"].is_floating_point() for operand in node.all_input_nodes
    )


def _untag_linear_weights(program: ExportedProgram) -> None:
    """Leave float32 weights and biases of delegated linear layers to the program."""
    for node in program.graph.nodes:
        if node.op != "call_function" or operator_of(node) != "aten.linear.default" or refusal(node, program):
            continue
        weights = [operand for operand in node.args[1:3] if isinstance(operand, Node)]
        is_plain = all(is_constant_data(program, weight) for weight in weights) and rank(node.all_input_nodes[0]) > 1
        if "delegation_tag" in node.meta and is_plain and weights[0].meta["val"].dtype == torch.float32:
            for tagged in weights:
                tagged.meta.pop("delegation_tag", None)


class XnnpackPartitioner(Partitioner):
    """Tags the operators that XNNPACK computes as eager does: exactly in float32, with float32 intermediates in float16
    and bfloat16, and within one quantum in quantized graphs.

    configs: the operators to delegate, as classes of `partition.config`; None: all. Their quantize and dequantize nodes
    go with them. config_precisions: the precisions to delegate, where STATIC_QUANT includes DYNAMIC_QUANT; None: all.
    per_op_mode: each operator is a separate delegate with its quantize and dequantize nodes, to compare results node by
    node.
    verbose: log the reason of every refusal, at debug level and to a logger that emits this level.
    force_non_static_weights_for_f32_linear: float32 weights and biases of linear layers stay in the program and become
    inputs of the delegate, so that delegates or LoRA adapters can share them. XNNPACK then cannot pack them when the
    program loads. Layers that `to_edge` decomposed keep constant weights.
    force_fp32_dynamic_linear: older name of the same option.
    compute_precision: "fp32", or "bf16" to let products of float32 values (linear layers, convolutions, matrix
    products) round their factors to bfloat16 where the processor multiplies it faster. Sums, results and all other
    operators stay float32. A backend option of the same name overrides it when the program loads. Raises ValueError for
    any other value.
    max_error: with "bf16", the largest error |rounded - exact| / |exact| (Euclidean norms; 0.01 is 40 dB) of the
    program's outputs on its example inputs. The products that cause most of it stay in float32, and those in branches
    of control flow. Lowering runs the program once for each product. None: no limit. Raises ValueError unless positive,
    and in `partition` for a program without example inputs.
    for_executorch_1_4: delegate only what the runtime of ExecuTorch 1.4 computes too. It lacks bfloat16, booleans,
    selections, comparisons, reads of constant places and convolutions of volumes.
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
        max_error: float | None = None,
        for_executorch_1_4: bool = False,
    ) -> None:
        super().__init__()
        if compute_precision not in _PRECISIONS:
            raise ValueError(f"compute_precision must be one of {', '.join(_PRECISIONS)}; found {compute_precision!r}")
        if max_error is not None and (compute_precision == "fp32" or not 0 < max_error < math.inf):
            raise ValueError(
                f"max_error must be a positive number, with a compute_precision other than fp32; "
                f"found {max_error!r} with {compute_precision}"
            )
        self._rounds_products, self._max_error = compute_precision == "bf16", max_error
        self._for_executorch_1_4 = for_executorch_1_4
        self._weights_are_inputs = force_non_static_weights_for_f32_linear or force_fp32_dynamic_linear
        self._configs = configs
        self._precisions = (
            [config_precisions] if isinstance(config_precisions, ConfigPrecisionType) else config_precisions
        )
        self._per_op_mode = per_op_mode
        self._logger = logging.getLogger(__name__)
        if verbose:
            self._logger = self._logger.getChild("verbose")
            self._logger.setLevel(logging.DEBUG)
        # "fp32" adds no spec, so default programs stay byte-identical to earlier versions. ExecuTorch 1.4 ignores the
        # spec.
        specs = [] if compute_precision == "fp32" else [CompileSpec("compute_precision", compute_precision.encode())]
        self._delegation = DelegationSpec(XnnpackBackend.__name__, specs)

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        return [*_NOT_DECOMPOSED, *_KEEP_IF_SUPPORTED], lambda node: _keeps_composed(node, ep)

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        tags: dict[str, DelegationSpec] = {}
        for program in programs_of(exported_program):
            partitions = self._partitions(program)
            if self._rounds_products:
                self._note_precisions(program, partitions, is_branch=program is not exported_program)
            for nodes in partitions:
                tag = f"xnnpack_{len(tags)}"
                tags[tag] = self._delegation
                for node in nodes:
                    node.meta["delegation_tag"] = tag
        tag_constant_data(exported_program)
        if self._weights_are_inputs:
            for program in programs_of(exported_program):
                _untag_linear_weights(program)
        return PartitionResult(exported_program, tags)

    def _note_precisions(self, program: ExportedProgram, partitions: Sequence[Sequence[Node]], is_branch: bool) -> None:
        """Note which products round their factors. Branches of control flow are not measured."""
        products = [node for nodes in partitions for node in nodes if is_float32_product(node)]
        note_compute_precision(products, "bf16")
        if self._max_error is not None:
            kept = products if is_branch else products_to_keep(program, products, self._max_error)
            note_compute_precision(kept, "fp32")

    def _partitions(self, program: ExportedProgram) -> list[list[Node]]:
        """Partitions of a program or of one of its control-flow branches."""
        why, recomposed = WhyNoPartition(self._logger), RecomposedOperators(program)
        program = recomposed.program
        selection = Selection(program, self._configs, self._precisions, self._for_executorch_1_4)

        def is_supported(node: Node) -> bool:
            if node.op != "call_function":
                return False
            rejection = refusal(node, program) or selection.refusal(node)
            if rejection is not None:
                for piece in recomposed.original_nodes(node):
                    why(piece, rejection.reason)
            return rejection is None

        supported = {node for node in program.graph.nodes if is_supported(node)}
        idle = idle_booleans(program.graph, supported)
        supported -= idle
        largest = largest_partitions(program.graph, supported.__contains__, layers_of_one_operand(program.graph))
        idle.update(node for nodes in largest if all(map(is_boolean, nodes)) for node in nodes)
        largest = [nodes for nodes in largest if not idle.issuperset(nodes)]
        for node in idle:
            for piece in recomposed.original_nodes(node):
                why(piece, "a delegate that computes only booleans gains nothing")
        groups = [group for nodes in largest for group in selection.apart(nodes)] if self._per_op_mode else largest
        for group in groups:
            arithmetic = arithmetic_of(program, group)
            for node in arithmetic.on_integers:
                note_compute_precision(recomposed.original_nodes(node), "int8")
            reasons = arithmetic.float_fallbacks.items()
            note_float_fallback(
                {piece: reason for node, reason in reasons for piece in recomposed.original_nodes(node)}
            )
        return [[piece for node in nodes for piece in recomposed.original_nodes(node)] for nodes in groups]


class XnnpackFloatingPointPartitioner(XnnpackPartitioner):
    """Delegates only in float, also operators between dequantize and quantize nodes and quantized linear layers."""

    def __init__(self) -> None:
        super().__init__(config_precisions=ConfigPrecisionType.FP32)


class XnnpackQuantizedPartitioner(XnnpackPartitioner):
    """Delegates only quantized operators: those with constant quantization parameters, and dynamically quantized
    layers.
    """

    def __init__(self) -> None:
        super().__init__(config_precisions=ConfigPrecisionType.STATIC_QUANT)


class XnnpackDynamicallyQuantizedPartitioner(XnnpackPartitioner):
    """Delegates only dynamically quantized layers."""

    def __init__(self) -> None:
        super().__init__(config_precisions=ConfigPrecisionType.DYNAMIC_QUANT)
