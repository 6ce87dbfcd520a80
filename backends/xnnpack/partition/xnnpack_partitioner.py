# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""XnnpackPartitioner: everything that XNNPACK computes exactly, in the largest partitions."""

from __future__ import annotations

import logging
from collections.abc import Callable

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.operators.table import refusal
from executorch.backends.xnnpack.xnnpack_preprocess import XnnpackBackend
from executorch.exir.backend.canonical_partitioners.largest_partitions import largest_partitions
from executorch.exir.backend.constant_tagging import tag_constant_data
from executorch.exir.backend.partition_report import WhyNoPartition
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


def _is_wanted_whole(node: Node) -> bool:
    """What XNNPACK would not take is better decomposed before anything is partitioned."""
    return "matmul" not in str(node.target) or all(
        operand.meta["val"].dim() > 1 and operand.meta["val"].is_floating_point() for operand in node.all_input_nodes
    )


class XnnpackPartitioner(Partitioner):
    """Tags what XNNPACK computes exactly in float32 and float16.

    per_op_mode: every operator is a delegate of its own, to compare results node by node.
    verbose: the reason of every refusal is logged at debug level by a logger that lets it through.
    configs, config_precisions: choosing among operators or precisions is not there yet; NotImplementedError.
    """

    def __init__(
        self,
        configs: object = None,
        config_precisions: object = None,
        per_op_mode: bool = False,
        verbose: bool = False,
    ) -> None:
        super().__init__()
        if configs is not None or config_precisions is not None:
            raise NotImplementedError("XnnpackPartitioner takes neither configs nor config_precisions yet")
        self._per_op_mode = per_op_mode
        self._logger = logging.getLogger(__name__)
        if verbose:
            self._logger = self._logger.getChild("verbose")
            self._logger.setLevel(logging.DEBUG)
        self._delegation = DelegationSpec(XnnpackBackend.__name__, [])

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        return list(_WHOLE), _is_wanted_whole

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        why = WhyNoPartition(self._logger)

        def is_supported(node: Node) -> bool:
            if node.op != "call_function":
                return False
            reason = refusal(node, exported_program)
            if reason is not None:
                why(node, reason)
            return reason is None

        found = largest_partitions(exported_program.graph, is_supported)
        if self._per_op_mode:
            found = [[node] for nodes in found for node in nodes]
        tags: dict[str, DelegationSpec] = {}
        for number, nodes in enumerate(found):
            tag = f"xnnpack_{number}"
            tags[tag] = self._delegation
            for node in nodes:
                node.meta["delegation_tag"] = tag
        tag_constant_data(exported_program)
        return PartitionResult(exported_program, tags)


class XnnpackFloatingPointPartitioner(XnnpackPartitioner):
    """The same: no quantized operator is taken yet."""
