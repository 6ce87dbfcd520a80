# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A payload of which the values between its nodes are outputs as well, for finding the node that computes wrongly."""

from __future__ import annotations

from dataclasses import dataclass

from executorch.backends.xnnpack.serialization import xnnpack_graph as g
from executorch.backends.xnnpack.serialization.payload import ConstantData, deserialize_payload, serialize_payload
from executorch.exir.scalar_type import ScalarType
from executorch.exir.schema import BytesLike

_DTYPES = {
    g.DataType.FP32: ScalarType.FLOAT,
    g.DataType.FP16: ScalarType.HALF,
    g.DataType.BF16: ScalarType.BFLOAT16,
    g.DataType.QINT8: ScalarType.CHAR,
    g.DataType.QUINT8: ScalarType.BYTE,
    g.DataType.QINT32: ScalarType.INT,
    g.DataType.INT32: ScalarType.INT,
}


@dataclass(frozen=True)
class OpenedOutput:
    """What the opened delegate returns at one place. kind, handle: of the node that makes it; handle 0: it only changes
    layouts. sizes: as XNNPACK has them, images with the channels last. scale, zero_point: of quantized values, else 1
    and 0."""

    kind: str
    handle: int
    dtype: ScalarType
    sizes: tuple[int, ...]
    scale: float
    zero_point: int


def open_payload(payload: BytesLike) -> tuple[bytes, list[OpenedOutput]]:
    """The payload with the values of all nodes as outputs, its own first, and what they are.

    Values of kinds that leave no delegate (quantized as they are read, packed) stay inside. Raises
    MalformedProgramError if it is none.
    """
    graph, data = deserialize_payload(payload)
    made_by: dict[int, g.XNode] = {}
    for node in graph.xnodes:
        for name, value in vars(node.xnode_union).items():
            if name.startswith("output") and name.endswith("_id"):
                made_by[value] = node
    tensors = {_tensor(each).id_out: each for each in graph.xvalues}
    for value in made_by:
        tensor = _tensor(tensors[value])
        if tensor.external_id == g.INVALID_ID and _dtype(tensor) is not None:
            tensor.external_id = graph.num_externs
            tensor.flags |= g.FLAG_EXTERNAL_OUTPUT
            graph.output_ids.append(value)
            graph.num_externs += 1
    outputs = [_output(tensors[value], made_by.get(value)) for value in graph.output_ids]
    return serialize_payload(graph, ConstantData.kept(graph.constant_data, data)), outputs


def _tensor(value: g.XValue) -> g.TensorValue:
    held = value.xvalue_union
    return held.tensor_value if isinstance(held, g.QuantizedTensorValue) else held


def _dtype(tensor: g.TensorValue) -> ScalarType | None:
    return _DTYPES.get(g.DataType(tensor.datatype))


def _output(value: g.XValue, node: g.XNode | None) -> OpenedOutput:
    held, tensor = value.xvalue_union, _tensor(value)
    dtype = _dtype(tensor)
    assert dtype is not None  # a delegate's arguments are of those
    scale, zero_point = 1.0, 0
    if isinstance(held, g.QuantizedTensorValue) and isinstance(held.quant_params, g.PerTensorQuant):
        scale, zero_point = held.quant_params.scale, held.quant_params.zero_point
    kind = "" if node is None else type(node.xnode_union).__name__
    handle = 0 if node is None else node.debug_handle
    return OpenedOutput(kind, handle, dtype, tuple(tensor.dims), scale, zero_point)
