# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Data model of an XNNPACK delegate's payload: a graph of XNNPACK nodes over numbered values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NewType

ValueId = NewType("ValueId", int)
"""A value's place in `XNNGraph.xvalues`."""
INVALID_ID = ValueId(2**32 - 1)
"""XNN_INVALID_VALUE_ID: an absent operand, such as a bias."""

FLAG_EXTERNAL_INPUT = 1
FLAG_EXTERNAL_OUTPUT = 2


class DataType(IntEnum):
    """Element types of values, with their numbers in the payload."""

    INVALID = 0
    FP32 = 1
    FP16 = 2
    QINT8 = 3
    QUINT8 = 4
    QINT32 = 5
    QCINT8 = 6
    QCINT32 = 7
    QCINT4 = 8
    QDINT8 = 9
    QBINT4 = 10
    QPINT8 = 11
    INT32 = 12
    PFP32 = 13
    BF16 = 14
    BOOL = 15


@dataclass
class PerChannelQuant:
    """Scales in float32, one for each index of `channel_dim`; every zero point is 0.

    They are in `scale`, or, if `scale_buffer_idx` is not 0, `num_scales` of them in that entry of the constant data.
    """

    scale: list[float]
    channel_dim: int
    scale_buffer_idx: int = 0
    num_scales: int = 0


@dataclass
class PerTensorQuant:
    """One scale and zero point for the tensor: value = scale * (integer - zero_point)."""

    scale: float
    zero_point: int


@dataclass
class PerTokenDynamicQuant:
    """Scales that the delegate computes from the input, one for each slice of the last `num_nonbatch_dims` dims."""

    num_nonbatch_dims: int


@dataclass
class PerChannelGroupQuant:
    """Scales in bfloat16, one for each group of `group_size` inputs of a channel.

    `num_scales` of them are in the entry `scale_buffer_idx` of the constant data. `scale` and `deprecated_scales` are
    earlier forms, which the runtime refuses.
    """

    scale: list[float]
    channel_dim: int
    group_size: int
    deprecated_scales: list[int] | None = None
    scale_buffer_idx: int = 0
    num_scales: int = 0


@dataclass
class TensorValue:
    """One value. `constant_buffer_idx` 0: no constant. `external_id` counts the delegate's arguments, inputs first."""

    datatype: int
    num_dims: int
    dims: list[int]
    constant_buffer_idx: int
    external_id: int
    flags: int
    id_out: ValueId


@dataclass
class QuantizedTensorValue:
    """A value of integers with their scales and zero points."""

    tensor_value: TensorValue
    quant_params: PerChannelQuant | PerTensorQuant | PerTokenDynamicQuant | PerChannelGroupQuant


@dataclass
class XValue:
    """An entry of `XNNGraph.xvalues`."""

    xvalue_union: TensorValue | QuantizedTensorValue


@dataclass
class OutputMinMax:
    """Limits to which a node clamps its result; infinite without a limit."""

    output_min: float
    output_max: float


@dataclass
class Node1x1:
    """A node with one operand and one result. Each kind is a separate member of the node union."""

    input_id: ValueId
    output_id: ValueId
    flags: int = 0


@dataclass
class Node2x1:
    """A node with two operands, which broadcast, and one result."""

    input1_id: ValueId
    input2_id: ValueId
    output_id: ValueId
    flags: int = 0


@dataclass
class Concatenate:
    """Two to five inputs joined along `axis`; ids of absent inputs are INVALID_ID."""

    axis: int
    input1_id: ValueId
    input2_id: ValueId
    input3_id: ValueId
    input4_id: ValueId
    output_id: ValueId
    flags: int = 0
    input5_id: ValueId = INVALID_ID


@dataclass
class Convolution:
    """Convolutions of channels-last images. bias_id may be INVALID_ID.

    Paddings, strides (subsampling) and dilations are in pixels. adjustment: output padding of transposed convolutions.
    """

    padding_top: int
    padding_right: int
    padding_bottom: int
    padding_left: int
    kernel_height: int
    kernel_width: int
    subsampling_height: int
    subsampling_width: int
    dilation_height: int
    dilation_width: int
    group_input_channels: int
    group_output_channels: int
    groups: int
    adjustment_height: int
    adjustment_width: int
    input1_id: ValueId
    filter_id: ValueId
    bias_id: ValueId
    output_id: ValueId
    flags: int = 0


@dataclass
class Pooling:
    """Average or maximum of windows of channels-last images; all lengths are in pixels."""

    padding_top: int
    padding_right: int
    padding_bottom: int
    padding_left: int
    pooling_height: int
    pooling_width: int
    stride_height: int
    stride_width: int
    dilation_height: int
    dilation_width: int
    input_id: ValueId
    output_id: ValueId
    flags: int = 0


@dataclass
class ArgMaxPooling2d:
    """Maximum of windows of channels-last images, and its index in the window. The partitioner never chooses it."""

    padding_top: int
    padding_right: int
    padding_bottom: int
    padding_left: int
    pooling_height: int
    pooling_width: int
    input_id: ValueId
    output_value_id: ValueId
    output_index_id: ValueId
    flags: int = 0


@dataclass
class FullyConnected:
    """Product of rows with a filter of sizes [outputs, inputs]. bias_id may be INVALID_ID."""

    input1_id: ValueId
    filter_id: ValueId
    bias_id: ValueId
    output_id: ValueId
    flags: int = 0


@dataclass
class StaticTranspose:
    """Dimension i of the result is dimension `perm[i]` of the input."""

    num_dims: int
    perm: list[int]
    input_id: ValueId
    output_id: ValueId
    flags: int = 0


@dataclass
class StaticResizeBilinear2D:
    """Channels-last images resized to a height and width in pixels; `flags` choose how corners align."""

    new_height: int
    new_width: int
    input_id: ValueId
    output_id: ValueId
    flags: int = 0


@dataclass
class StaticConstantPad:
    """Pads each dimension before and after with a value; lengths are in elements."""

    pre_paddings: list[int]
    post_paddings: list[int]
    padding_value: float
    input_id: ValueId
    output_id: ValueId
    flags: int = 0


@dataclass
class StaticReshape:
    """The same elements in order with other sizes.

    The last size of 0 in `new_shape` is inferred; those before it are the input's at the same places.
    """

    num_dims: int
    new_shape: list[int]
    input_id: ValueId
    output_id: ValueId
    flags: int = 0


@dataclass
class StaticSlice:
    """Part of each dimension from an offset; size 0 means all elements from there."""

    num_dims: int
    offsets: list[int]
    sizes: list[int]
    input_id: ValueId
    output_id: ValueId
    flags: int = 0


@dataclass
class ScaledDotProductAttention:
    """softmax(query @ key^T * scale + mask) @ value for each head."""

    query_id: ValueId
    key_id: ValueId
    value_id: ValueId
    scale_id: ValueId
    mask_id: ValueId
    output_id: ValueId
    flags: int = 0


@dataclass
class Select:
    """input1 where the condition is true, else input2."""

    condition_id: ValueId
    input1_id: ValueId
    input2_id: ValueId
    output_id: ValueId
    flags: int = 0


@dataclass
class StaticGather:
    """The elements at constant indices of `axis`."""

    axis: int
    indices: list[int]
    input_id: ValueId
    output_id: ValueId
    flags: int = 0


@dataclass
class ELU:
    """alpha * (exp(x) - 1) for negative x, else x."""

    alpha: float
    input_id: ValueId
    output_id: ValueId
    flags: int = 0


@dataclass
class LeakyReLU:
    """negative_slope * x for negative x, else x."""

    negative_slope: float
    input_id: ValueId
    output_id: ValueId
    flags: int = 0


# Members of the node union with equal layouts are separate Python types, because the type selects the member.
def _kinds(base: type, *names: str) -> tuple[type, ...]:
    return tuple(dataclass(type(name, (base,), {"__module__": __name__})) for name in names)


(Add, Div, Minimum, Multiply, Subtract, Maximum, PReLU, BatchMatrixMultiply) = _kinds(
    Node2x1, "Add", "Div", "Minimum", "Multiply", "Subtract", "Maximum", "PReLU", "BatchMatrixMultiply"
)
(Softmax, Sigmoid, Clamp, Floor, Convert, GlobalAvgPooling2d, SquareRoot, Ceiling, Hardswish) = _kinds(
    Node1x1,
    *("Softmax", "Sigmoid", "Clamp", "Floor", "Convert", "GlobalAvgPooling2d", "SquareRoot", "Ceiling", "Hardswish"),
)
(Negate, Square, Abs, ReciprocalSquareRoot, Log, Gelu, Tanh, Exp, Sin, Copy, Cos) = _kinds(
    Node1x1,
    *("Negate", "Square", "Abs", "ReciprocalSquareRoot", "Log", "Gelu", "Tanh", "Exp", "Sin", "Copy", "Cos"),
)
(BankersRounding, Sign, Sum) = _kinds(Node1x1, "BankersRounding", "Sign", "Sum")
(CopySign, Equal, NotEqual, Less, LessOrEqual) = _kinds(Node2x1, "CopySign", "Equal", "NotEqual", "Less", "LessOrEqual")
(Concatenate2, Concatenate3, Concatenate4, Concatenate5) = _kinds(
    Concatenate, "Concatenate2", "Concatenate3", "Concatenate4", "Concatenate5"
)
(Conv2d, DepthwiseConv2d, ConvTranspose2d) = _kinds(Convolution, "Conv2d", "DepthwiseConv2d", "ConvTranspose2d")
(AvgPooling2d, MaxPooling2d) = _kinds(Pooling, "AvgPooling2d", "MaxPooling2d")

NODE_KINDS: tuple[type, ...] = (
    Add,
    FullyConnected,
    Softmax,
    Sigmoid,
    StaticTranspose,
    Clamp,
    Conv2d,
    Div,
    StaticResizeBilinear2D,
    StaticConstantPad,
    AvgPooling2d,
    Minimum,
    DepthwiseConv2d,
    MaxPooling2d,
    Multiply,
    Subtract,
    Floor,
    Convert,
    GlobalAvgPooling2d,
    StaticReshape,
    ArgMaxPooling2d,
    SquareRoot,
    Ceiling,
    Hardswish,
    LeakyReLU,
    Maximum,
    Negate,
    Square,
    ELU,
    Abs,
    PReLU,
    Concatenate2,
    Concatenate3,
    Concatenate4,
    StaticSlice,
    ScaledDotProductAttention,
    BatchMatrixMultiply,
    Concatenate5,
    ConvTranspose2d,
    ReciprocalSquareRoot,
    Log,
    Gelu,
    Tanh,
    Exp,
    Sin,
    Copy,
    Cos,
    BankersRounding,
    Sign,
    CopySign,
    Sum,
    Select,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    StaticGather,
)
"""Members of the node union. A node's tag in the payload is its position here, from 1. Add new kinds at the end; those
after Cos are unknown to ExecuTorch 1.4.
"""


@dataclass
class XNode:
    """An entry of `XNNGraph.xnodes`. output_min_max: None without limits."""

    xnode_union: object
    debug_handle: int
    output_min_max: OutputMinMax | None = None
    full_precision: bool = False
    """A product whose factors stay in float32 whatever the compute precision. ExecuTorch 1.4 ignores it."""


@dataclass
class ConstantDataOffset:
    """Location of a constant's bytes: at `offset` of the constant data, or under `named_key` in the named data."""

    offset: int
    size: int
    named_key: str = ""


@dataclass
class XNNGraph:
    """The payload of a delegate: values, and nodes in the order of execution.

    num_externs: number of the delegate's arguments. input_ids, output_ids: their values. deprecated_constants,
    deprecated_sizes: always None.
    """

    version: str
    xnodes: list[XNode] = field(default_factory=list)
    xvalues: list[XValue] = field(default_factory=list)
    num_externs: int = 0
    input_ids: list[ValueId] = field(default_factory=list)
    output_ids: list[ValueId] = field(default_factory=list)
    deprecated_constants: None = field(default=None, kw_only=True)
    deprecated_sizes: None = field(default=None, kw_only=True)
    constant_data: list[ConstantDataOffset] = field(default_factory=list)
