# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Remove pairs of permutes that cancel, with quantize or dequantize between them."""

from __future__ import annotations

from typing import Any

from torch import fx
from torch.fx import Node
from torch.fx.passes.infra.pass_base import PassResult

from executorch.backends.transforms.permutes.permute_pass_utils import FuseOpPairsAcrossBranchesPass, permutation_of
from executorch.exir.dialects._ops import ops
from executorch.exir.dialects.edge._ops import EdgeOpOverload, EdgeOpOverloadPacket
from executorch.exir.graph_module import all_graph_modules

_aten: Any = ops.edge.aten
_quantized: Any = ops.edge.quantized_decomposed


class FuseTransposeOrPermuteOpPairsPass(FuseOpPairsAcrossBranchesPass):
    """Replaces permute → quantize or dequantize → permute by a view, if the two permutes together keep the order of
    all dimensions that are larger than 1. Subclasses extend `bypass_ops`.
    """

    bypass_ops: set[EdgeOpOverload] = {
        _quantized.quantize_per_tensor.default,
        _quantized.quantize_per_channel.default,
        _quantized.dequantize_per_tensor.default,
        _quantized.dequantize_per_channel.default,
    }

    def can_fuse_for_chain(
        self, producer: Node, consumer: Node, consumer_op_packets: set[EdgeOpOverloadPacket]
    ) -> bool:
        if not super().can_fuse_for_chain(producer, consumer, consumer_op_packets):
            return False
        source: Any = producer.args[0]
        inner, outer = permutation_of(producer), permutation_of(consumer)
        if "val" not in source.meta or inner is None or outer is None:
            return False
        sizes = source.meta["val"].shape
        order = [inner[dim] for dim in outer if sizes[inner[dim]] != 1]
        return order == sorted(order)

    def get_fused_node(self, producer: Node, consumer: Node, graph_module: fx.GraphModule) -> Node:
        sizes = list(consumer.meta["val"].shape)
        with graph_module.graph.inserting_after(consumer):
            return graph_module.graph.call_function(_aten.view_copy.default, (consumer.args[0], sizes))

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        packets = {_aten.transpose_copy, _aten.permute_copy}
        fused = [
            self.find_and_fuse(module, packets, packets, self.bypass_ops) for module in all_graph_modules(graph_module)
        ]
        modified = any(fused)
        return super().call(graph_module) if modified else PassResult(graph_module, False)
