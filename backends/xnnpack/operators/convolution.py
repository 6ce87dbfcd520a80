# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Convolutions (1-D to 3-D, transposed, grouped) and the batch norm that follows one."""

from __future__ import annotations

from typing import NamedTuple, cast

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.elements import per_channel
from executorch.backends.xnnpack.lowering.facts import constant_tensor, is_constant, operator_of, rank
from executorch.backends.xnnpack.lowering.layout import CHANNELS_LAST, Order, arranged
from executorch.backends.xnnpack.lowering.lowering import Lowering, reshape
from executorch.backends.xnnpack.lowering.quantization import Affine, Weights, dynamic_source, weights_of
from executorch.backends.xnnpack.operators.integers import if_weights, integer_operands, weight_elements
from executorch.backends.xnnpack.operators.rule import Rule, refusal_of_reshape
from executorch.backends.xnnpack.operators.volumes import (
    VOLUMES,
    Windows,
    as_images,
    filters_of_volumes,
    windows_of_volumes,
)
from executorch.backends.xnnpack.serialization import xnnpack_graph as g
from executorch.exir.error import Rejection

_SIGNALS: Order = (0, 2, 1)
"""Dim order of 1-D signals: batch, length, channels."""


class _Call(NamedTuple):
    """The arguments of aten.convolution."""

    source: Node
    weight: Node
    bias: Node | None
    stride: list[int]
    padding: list[int]
    dilation: list[int]
    transposed: bool
    output_padding: list[int]
    groups: int


def _call(node: Node) -> _Call:
    """Return the arguments of a convolution, with lists of one element repeated for all spatial dimensions."""
    call = _Call(*node.args)  # type: ignore[arg-type]
    dims = rank(call.source) - 2

    def for_all_dims(numbers: list[int]) -> list[int]:
        return numbers * dims if len(numbers) == 1 else numbers

    return call._replace(
        stride=for_all_dims(call.stride),
        padding=for_all_dims(call.padding),
        dilation=for_all_dims(call.dilation),
        output_padding=for_all_dims(call.output_padding),
    )


def _depth_of(call: _Call) -> Windows:
    """Return the windows of a 3-D convolution over the depth."""
    kernel = int(call.weight.meta["val"].shape[2])
    return Windows(kernel, call.stride[0], call.padding[0], call.dilation[0], call.groups, call.transposed)


def _if_images(node: Node, result: Affine, program: ExportedProgram) -> bool:
    return rank(node) < 5 and if_weights(_channels_of)(node, result, program)


def _refuse(node: Node, program: ExportedProgram) -> Rejection | None:
    call = _call(node)
    if any(operand is not None and not is_constant(program, operand) for operand in (call.weight, call.bias)):
        return Rejection("its weight or bias is computed, expected a constant")
    if rank(call.source) not in (3, 4, 5) or rank(call.weight) != rank(call.source):
        return Rejection(f"its operand has {rank(call.source)} dimensions, expected 3 to 5")
    if rank(call.source) == 5 and not isinstance(call.source.meta["val"].shape[2], int):
        return Rejection("the depth of its volumes is dynamic")
    rejection = refusal_of_reshape(call.source.meta["val"].shape, node.meta["val"].shape)
    if rank(call.source) != 4 and rejection is not None:
        return rejection
    if any(padding < 0 for padding in call.padding):
        return Rejection(f"padding {call.padding} is negative")
    if call.transposed and any(
        padding >= stride for padding, stride in zip(call.output_padding, call.stride, strict=True)
    ):
        return Rejection(f"output padding is {call.output_padding}, expected less than stride {call.stride}")
    return None


def _of_images(call: _Call) -> _Call:
    """Return the call of the 2-D convolution that computes a 1-D one (images of height 1) or a 3-D one.

    The channels of the images for a 3-D convolution are those of all taps in depth (`windows_of_volumes`).
    """
    if rank(call.source) == 4:
        return call
    if rank(call.source) == 5:
        return call._replace(
            stride=call.stride[1:],
            padding=call.padding[1:],
            dilation=call.dilation[1:],
            output_padding=call.output_padding[1:] if call.transposed else [0, 0],
        )
    return call._replace(
        stride=[1, *call.stride],
        padding=[0, *call.padding],
        dilation=[1, *call.dilation],
        output_padding=[0, *call.output_padding],
    )


def _convolution(low: Lowering, node: Node) -> None:
    call = _of_images(_call(node))
    weights = _weights_of_quantized_images(node, low.program)
    kind, filters, bias = _operands(low, node, call, weights)
    if rank(node) == 4:
        images = low.read(call.source, CHANNELS_LAST) if weights is None else _quantized_images(low, call)
        _add(low, node, call, kind, filters, bias, images, low.result(node, CHANNELS_LAST))
        return
    if rank(node) == 5:
        images, channels = windows_of_volumes(low, node, _depth_of(_call(node)))
        _, bounds = as_images(low, node)
        output = low.writer.value(low.elements(node), bounds)
        _add(low, node, call, kind, filters, bias, images, output, channels)
        volumes = arranged(node.meta["val"].shape, VOLUMES)
        low.writer.node(reshape(volumes, output, low.result(node, VOLUMES)), 0)
        return
    signals = low.read(call.source, _SIGNALS)
    images = low.reshaped(node, signals, *_as_images(low, call.source), low.elements(call.source))
    sizes, bounds = _as_images(low, node)
    output = low.writer.value(low.elements(node), bounds)
    _add(low, node, call, kind, filters, bias, images, output)
    low.writer.node(reshape([sizes[0], *sizes[2:]], output, low.result(node, _SIGNALS)), 0)


def _operands(low: Lowering, node: Node, call: _Call, weights: Weights | None) -> tuple[type, g.ValueId, g.ValueId]:
    """Return the kind of node, its filter and its bias. weights: the integers, if images are quantized dynamically."""
    if low.on_integers(node):
        integers = integer_operands(node, low.program)
        kind, weight = _kind_and_filter(call, _of_rank_4(integers.weights.values))
        elements = weight_elements(integers.weights, 3 if kind is g.DepthwiseConv2d else 0)
        filters, bias = low.writer.constant(weight, elements), integers.bias
        return kind, filters, g.INVALID_ID if bias is None else low.writer.constant(bias, integers.bias_elements)
    bias = None if call.bias is None else low.constant(call.bias)
    if weights is not None:
        kind, weight = _kind_and_filter(call, weights.values)
        filters = low.writer.constant(weight, per_channel(torch.int8, weights.scales.expand(len(weight)), 0))
        return kind, filters, g.INVALID_ID if bias is None else low.writer.constant(bias)
    tensor, folded = low.constant(call.weight), low.folded_scale(node)
    assert tensor is not None
    weight = _of_rank_4(tensor, call)
    if folded is not None:
        weight, bias = _scaled(weight, bias, folded, call)
    kind, weight = _kind_and_filter(call, weight)
    # Half-precision convolutions also take float32 filters.
    filters = low.writer.constant(weight.float())
    return kind, filters, g.INVALID_ID if bias is None else low.writer.constant(bias.float())


def _quantized_images(low: Lowering, call: _Call) -> g.ValueId:
    source = dynamic_source(call.source)
    assert source is not None
    return low.quantized_images(source)


def takes_quantized_images(node: Node, program: ExportedProgram) -> bool:
    """Return whether a node is a convolution whose images are quantized dynamically, one scale an image."""
    return _weights_of_quantized_images(node, program) is not None


def _weights_of_quantized_images(node: Node, program: ExportedProgram) -> Weights | None:
    """Integer weights of a convolution with dynamically quantized images; None for other and depthwise convolutions."""
    if operator_of(node) != "aten.convolution.default" or dynamic_source(node.args[0]) is None:
        return None
    call, weights = _call(node), weights_of(program, node.args[1])
    if weights is None or weights.group or weights.axis not in (None, _channels_of(node)):
        return None
    # A fused batch norm scales the weights, so they must be float.
    before_norm = len(node.users) == 1 and operator_of(next(iter(node.users))) == f"aten.{NORM}"
    depthwise = not call.transposed and call.groups > 1 and weights.values.shape[1] == 1
    constant_bias = call.bias is None or is_constant(program, call.bias)
    value = call.source.meta["val"]
    images = value.dim() == 4 and value.dtype == torch.float32
    return weights if images and constant_bias and not (depthwise or before_norm) else None


def _of_rank_4(weight: torch.Tensor, call: _Call | None = None) -> torch.Tensor:
    if call is not None and weight.dim() == 5:
        return filters_of_volumes(weight, call.groups, call.transposed)
    return weight if weight.dim() == 4 else weight.unsqueeze(2)


def _channels_of(node: Node) -> int:
    """Return the dimension of the weights that indexes the result's channels; -1 if none does."""
    call = _call(node)
    return 0 if not call.transposed else 1 if call.groups == 1 else -1


def _as_images(low: Lowering, node: Node) -> tuple[list[object], list[int]]:
    """Return sizes and bounds of signals [N, L, C] as images [N, 1, L, C]."""
    sizes, bounds = arranged(node.meta["val"].shape, _SIGNALS), low.shape(node, _SIGNALS)
    return [sizes[0], 1, *sizes[1:]], [bounds[0], 1, *bounds[1:]]


def _add(
    low: Lowering,
    node: Node,
    call: _Call,
    kind: type,
    filters: g.ValueId,
    bias: g.ValueId,
    source: g.ValueId,
    output: g.ValueId,
    channels: int | None = None,
) -> None:
    """Emit a convolution. channels: number of channels of the images, if it is not that of the operand."""
    outputs, inputs = low.shape(node)[1], channels or low.shape(call.source)[1]
    vertical, horizontal = call.padding
    kernel = call.weight.meta["val"].shape[2:]
    low.add(
        kind(
            *(vertical, horizontal, vertical, horizontal),
            *(int(kernel[-2]) if len(kernel) > 1 else 1, int(kernel[-1])),
            *call.stride,
            *call.dilation,
            *(inputs // call.groups, outputs // call.groups, call.groups),
            *(call.output_padding if call.transposed else (0, 0)),
            *(source, filters, bias, output),
        ),
        node,
    )


def _kind_and_filter(call: _Call, weight: torch.Tensor) -> tuple[type, torch.Tensor]:
    """Return the kind of node, and its filter with the reduced channels last."""
    if call.transposed:
        # [inputs, outputs of a group, …] → [outputs, …, inputs of a group]
        groups = weight.reshape(call.groups, -1, *weight.shape[1:])
        return g.ConvTranspose2d, groups.permute(0, 2, 3, 4, 1).flatten(0, 1).contiguous()
    if call.groups > 1 and weight.shape[1] == 1:
        return g.DepthwiseConv2d, weight.permute(1, 2, 3, 0).contiguous()
    return g.Conv2d, weight.permute(0, 2, 3, 1).contiguous()


def _scaled(
    weight: torch.Tensor, bias: torch.Tensor | None, scale: tuple[torch.Tensor, torch.Tensor], call: _Call
) -> tuple[torch.Tensor, torch.Tensor]:
    factor, offset = scale
    if call.transposed:
        groups = weight.reshape(call.groups, -1, *weight.shape[1:])
        weight = (groups * factor.reshape(call.groups, 1, -1, 1, 1)).reshape(weight.shape)
    else:
        weight = weight * factor.reshape(-1, 1, 1, 1)
    return weight, offset if bias is None else bias * factor + offset


class _Norm(NamedTuple):
    """The arguments of batch norm at inference."""

    source: Node
    weight: Node | None
    bias: Node | None
    mean: Node
    variance: Node
    momentum: float
    epsilon: float


def scale_of_norm(node: Node, program: ExportedProgram) -> tuple[torch.Tensor, torch.Tensor]:
    """Return factor and offset of each channel by which a batch norm at inference scales its operand."""
    call = _Norm(*node.args)  # type: ignore[arg-type]
    mean, variance = constant_tensor(program, call.mean), constant_tensor(program, call.variance)
    assert mean is not None and variance is not None
    factor = (variance.double() + call.epsilon).rsqrt()
    weight, bias = (constant_tensor(program, operand) for operand in (call.weight, call.bias))
    factor = factor if weight is None else factor * weight
    offset = -mean * factor
    offset = offset if bias is None else offset + bias
    dtype = cast(torch.Tensor, node.args[0].meta["val"]).dtype  # type: ignore[union-attr]
    return factor.to(dtype), offset.to(dtype)


def _refuse_norm(node: Node, program: ExportedProgram) -> Rejection | None:
    call = _Norm(*node.args)  # type: ignore[arg-type]
    operands = [operand for operand in (call.weight, call.bias, call.mean, call.variance) if operand is not None]
    if any(not is_constant(program, operand) for operand in operands):
        return Rejection("its statistics are computed, expected constants")
    others = [user for user in node.users if user.args[1] != 0]
    return Rejection("its statistics are used") if any(user.users for user in others) else None


def _norm(low: Lowering, node: Node) -> None:
    """Batch norm without a preceding convolution: one multiply, one add."""
    (result,) = [user for user in node.users if user.args[1] == 0]
    source = cast(Node, node.args[0])
    order = CHANNELS_LAST if rank(source) == 4 else low.order_of(source)
    broadcast_sizes = [1, -1, *[1] * (rank(source) - 2)]
    factor, offset = (
        low.writer.constant(values.reshape(broadcast_sizes).permute(order))
        for values in scale_of_norm(node, low.program)
    )
    scaled = low.step(node, g.Multiply, low.read(source, order), factor, shape=low.shape(source, order))
    low.add(g.Add(scaled, offset, low.result(result, order)), result)


NORM = "_native_batch_norm_legit_no_training.default"

RULES: dict[str, Rule] = {
    "convolution.default": Rule(
        _convolution,
        _refuse,
        fuses_activation=True,
        on_integers=_if_images,
        newer=lambda node, program: rank(node) == 5,
    ),
    NORM: Rule(_norm, _refuse_norm),
}
