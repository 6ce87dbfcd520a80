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
    scale: list[float]
    channel_dim: int
    scale_buffer_idx: int = 0
    num_scales: int = 0


@dataclass
class PerTensorQuant:
    scale: float
    zero_point: int


@dataclass
class PerTokenDynamicQuant:
    num_nonbatch_dims: int


@dataclass
class PerChannelGroupQuant:
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
    tensor_value: TensorValue
    quant_params: PerChannelQuant | PerTensorQuant | PerTokenDynamicQuant | PerChannelGroupQuant


@dataclass
class XValue:
    xvalue_union: TensorValue | QuantizedTensorValue


@dataclass
class OutputMinMax:
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
    input1_id: ValueId
    input2_id: ValueId
    output_id: ValueId
    flags: int = 0


@dataclass
class Concatenate:
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
    input1_id: ValueId
    filter_id: ValueId
    bias_id: ValueId
    output_id: ValueId
    flags: int = 0


@dataclass
class StaticTranspose:
    num_dims: int
    perm: list[int]
    input_id: ValueId
    output_id: ValueId
    flags: int = 0


@dataclass
class StaticResizeBilinear2D:
    new_height: int
    new_width: int
    input_id: ValueId
    output_id: ValueId
    flags: int = 0


@dataclass
class StaticConstantPad:
    pre_paddings: list[int]
    post_paddings: list[int]
    padding_value: float
    input_id: ValueId
    output_id: ValueId
    flags: int = 0


@dataclass
class StaticReshape:
    num_dims: int
    new_shape: list[int]
    input_id: ValueId
    output_id: ValueId
    flags: int = 0


@dataclass
class StaticSlice:
    num_dims: int
    offsets: list[int]
    sizes: list[int]
    input_id: ValueId
    output_id: ValueId
    flags: int = 0


@dataclass
class ScaledDotProductAttention:
    query_id: ValueId
    key_id: ValueId
    value_id: ValueId
    scale_id: ValueId
    mask_id: ValueId
    output_id: ValueId
    flags: int = 0


@dataclass
class Select:
    condition_id: ValueId
    input1_id: ValueId
    input2_id: ValueId
    output_id: ValueId
    flags: int = 0


@dataclass
class StaticGather:
    axis: int
    indices: list[int]
    input_id: ValueId
    output_id: ValueId
    flags: int = 0


@dataclass
class ELU:
    alpha: float
    input_id: ValueId
    output_id: ValueId
    flags: int = 0


@dataclass
class LeakyReLU:
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
    version: str
    xnodes: list[XNode] = field(default_factory=list)
    xvalues: list[XValue] = field(default_factory=list)
    num_externs: int = 0
    input_ids: list[ValueId] = field(default_factory=list)
    output_ids: list[ValueId] = field(default_factory=list)
    deprecated_constants: None = None
    deprecated_sizes: None = None
    constant_data: list[ConstantDataOffset] = field(default_factory=list)
