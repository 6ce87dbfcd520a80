# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Fold a batch norm after a convolution into the convolution's weight and bias."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.passes.infra.pass_base import PassResult
from torch.nn.utils.fusion import fuse_conv_bn_weights

from executorch.backends.transforms.utils import get_param_tensor, is_param_node
from executorch.exir.dialects._ops import ops
from executorch.exir.pass_base import ExportPass

_aten: Any = ops.edge.aten
_BATCH_NORMS = (_aten.native_batch_norm.default, _aten._native_batch_norm_legit_no_training.default)


class FuseBatchNormWithConvPass(ExportPass):
    """Fuses batch norms whose operand is a convolution without other readers. The new weight and bias are attributes of
    the graph module.

    exported_program: the program of the graph, which holds the weights.
    """

    def __init__(self, exported_program: ExportedProgram) -> None:
        super().__init__()
        self.exported_program = exported_program

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        fused = 0
        for conv in list(graph_module.graph.find_nodes(op="call_function", target=_aten.convolution.default)):
            norm = next(iter(conv.users)) if len(conv.users) == 1 else None
            if norm is None or norm.target not in _BATCH_NORMS:
                continue
            if self.can_fuse(conv, norm, self.exported_program):
                self._fuse(graph_module, conv, norm, fused)
                fused += 1
        if not fused:
            return PassResult(graph_module, False)
        graph_module.recompile()
        return super().call(graph_module)

    @staticmethod
    def can_fuse(conv: Node, bn: Node, program: ExportedProgram) -> bool:
        """Return whether only the batch norm's first result is read, and all weights and statistics are constants."""
        if any(user.target is not operator.getitem or user.args[1] != 0 for user in bn.users):
            return False
        weights: list[Any] = [conv.args[1], *bn.args[1:5]]
        transposed = conv.args[6]
        return not transposed and all(isinstance(weight, Node) and is_param_node(program, weight) for weight in weights)

    def _fuse(self, graph_module: fx.GraphModule, conv: Node, norm: Node, index: int) -> None:
        nodes: list[Any] = [*conv.args[1:3], *norm.args[1:5]]
        weight, bias, gamma, beta, mean, variance = (get_param_tensor(self.exported_program, node) for node in nodes)
        # Epsilon is the last argument of either operator.
        parameters = fuse_conv_bn_weights(weight, bias, mean, variance, norm.args[-1], gamma, beta)  # type: ignore[arg-type]
        fused_nodes: list[Any] = []
        for stem, parameter in zip(("weight", "bias"), parameters, strict=True):
            name = f"_fused_with_bn_{stem}_{index}"
            graph_module.register_parameter(name, torch.nn.Parameter(parameter.detach(), requires_grad=False))
            with graph_module.graph.inserting_before(conv):
                fused_nodes.append(graph_module.graph.get_attr(name))
        conv.args = (conv.args[0], *fused_nodes, *conv.args[3:])
        for user in list(norm.users):
            user.replace_all_uses_with(conv)
            graph_module.graph.erase_node(user)
        graph_module.graph.erase_node(norm)
