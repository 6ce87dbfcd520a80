# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Quantize the biases that folding a batch norm added to quantized convolutions.

The quantizer annotates a convolution before the fold adds the bias, so the bias is float32 next to dequantized
operands. The pass quantizes it like the accumulator: scale = input scale * weight scale.
"""

from __future__ import annotations

import operator
from typing import Any, Protocol

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from executorch.backends.transforms.dead_code import without_dead_code
from executorch.backends.transforms.utils import create_constant_placeholder, get_param_tensor, is_param_node
from executorch.exir.pass_base import fake_mode_of

_aten: Any = torch.ops.aten
_quantized: Any = torch.ops.quantized_decomposed
_CONVOLUTIONS = (_aten.convolution.default, _aten.conv2d.default, _aten.conv_transpose2d.input)
_UNSQUEEZES = (_aten.unsqueeze_copy.default, _aten.unsqueeze.default)
_INT32 = torch.iinfo(torch.int32)


class _Constants(Protocol):
    """Access to the constant tensors of a graph."""

    def read(self, node: Any) -> torch.Tensor | None:
        """The tensor of a constant node; None for other nodes."""

    def create(self, name: str, tensor: torch.Tensor, where: Node) -> Node:
        """Add a constant before `where`; return its node."""


class _ProgramConstants:
    """Constants that are inputs of an exported program."""

    def __init__(self, program: ExportedProgram) -> None:
        self._program = program

    def read(self, node: Any) -> torch.Tensor | None:
        is_constant = isinstance(node, Node) and is_param_node(self._program, node)
        return get_param_tensor(self._program, node) if is_constant else None

    def create(self, name: str, tensor: torch.Tensor, where: Node) -> Node:
        with where.graph.inserting_before(next(iter(where.graph.nodes))):
            return create_constant_placeholder(self._program, where.graph, name, InputKind.PARAMETER, tensor)


class _ModuleConstants:
    """Constants that are attributes of a graph module."""

    def __init__(self, graph_module: fx.GraphModule) -> None:
        self._module = graph_module

    def read(self, node: Any) -> torch.Tensor | None:
        if not isinstance(node, Node) or node.op != "get_attr":
            return None
        attribute = operator.attrgetter(str(node.target))(self._module)
        return attribute if isinstance(attribute, torch.Tensor) else None

    def create(self, name: str, tensor: torch.Tensor, where: Node) -> Node:
        self._module.register_parameter(name, torch.nn.Parameter(tensor, requires_grad=False))
        with where.graph.inserting_before(where):
            node = where.graph.get_attr(name)
        node.meta["val"] = fake_mode_of(self._module).from_tensor(tensor, static_shapes=True)
        return node


class QuantizeFusedConvBnBiasAtenPass(PassBase):
    """Quantizes the float biases of quantized convolutions in an ATen graph to int32.

    exported_program: the program of the graph, if the graph's constants are inputs.
    default_zero_bias: add a bias of zeros to convolutions without one.
    symmetric_quant: exclude the smallest int32.
    """

    def __init__(
        self,
        exported_program: ExportedProgram | None = None,
        default_zero_bias: bool = False,
        symmetric_quant: bool = False,
    ) -> None:
        super().__init__()
        self.exported_program = exported_program
        self.default_zero_bias = default_zero_bias
        self.symmetric_quantization = symmetric_quant

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        constants: _Constants = (
            _ModuleConstants(graph_module)
            if self.exported_program is None
            else _ProgramConstants(self.exported_program)
        )
        modified = False
        for node in list(graph_module.graph.nodes):
            if node.op == "call_function" and node.target in _CONVOLUTIONS:
                modified |= self._quantize_bias(constants, node)
        if modified:
            without_dead_code(graph_module)
        return PassResult(graph_module, modified)

    def _quantize_bias(self, constants: _Constants, conv: Node) -> bool:
        node = conv.args[2] if len(conv.args) > 2 else None
        created = node is None and self.default_zero_bias
        if created:
            zeros = torch.zeros(conv.meta["val"].shape[1])
            node = constants.create(f"{conv.name}_default_zero_bias", zeros, conv)
            conv.args = (*conv.args[:2], node, *conv.args[3:])
        bias = constants.read(node)
        if bias is None or bias.dtype is torch.int32:
            return created
        scales = _scales(constants, conv)
        if scales is None:
            return created
        dequantized = self._dequantized_bias(constants, conv, bias.detach(), scales)
        dequantized.meta["val"] = node.meta["val"].to(torch.float32)  # type: ignore[union-attr]
        conv.args = (*conv.args[:2], dequantized, *conv.args[3:])
        return True

    def _dequantized_bias(
        self, constants: _Constants, conv: Node, bias: torch.Tensor, scale: torch.Tensor | float
    ) -> Node:
        parameters: tuple[Any, ...]
        limits = (_INT32.min + self.symmetric_quantization, _INT32.max, torch.int32)
        if not isinstance(scale, torch.Tensor):
            integers = _quantized.quantize_per_tensor.default(bias, scale, 0, *limits)
            stored = constants.create(f"{conv.name}_quantized_bias", integers, conv)
            target, parameters = _quantized.dequantize_per_tensor.default, (scale, 0, *limits)
        else:
            zero_point = torch.zeros(scale.shape, dtype=torch.int32)
            integers = _quantized.quantize_per_channel.default(bias, scale, zero_point, 0, *limits)
            stored = constants.create(f"{conv.name}_quantized_bias", integers, conv)
            nodes = (
                constants.create(f"{conv.name}_bias_scale", scale, conv),
                constants.create(f"{conv.name}_bias_zero_point", zero_point, conv),
            )
            target, parameters = _quantized.dequantize_per_channel.default, (*nodes, 0, *limits)
        with conv.graph.inserting_before(conv):
            return conv.graph.call_function(target, (stored, *parameters))


def _scales(constants: _Constants, conv: Node) -> torch.Tensor | float | None:
    """Input scale * weight scale, a tensor for per-channel weights; None if input or weight is float."""
    source, weight = conv.args[:2]
    if isinstance(source, Node) and source.target in _UNSQUEEZES:
        source = source.args[0]
    if not isinstance(source, Node) or source.target is not _quantized.dequantize_per_tensor.default:
        return None
    if not isinstance(weight, Node) or len(weight.args) < 2:
        return None
    factor: Any = source.args[1]
    scale: Any = weight.args[1]
    if not isinstance(scale, Node):
        return factor * scale  # type: ignore[no-any-return]
    tensor = constants.read(scale)
    return None if tensor is None else (tensor * factor).detach()
