# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Payload whose intermediate values are also outputs, to find the node that computes a wrong result."""

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
    g.DataType.BOOL: ScalarType.BOOL,
}


@dataclass(frozen=True)
class OpenedOutput:
    """One output of an opened delegate.

    kind, handle: of the node that computes it; handle 0: the node only changes the layout. sizes: in XNNPACK's order,
    images channels-last. scale, zero_point: 1 and 0 for float values.
    """

    kind: str
    handle: int
    dtype: ScalarType
    sizes: tuple[int, ...]
    scale: float
    zero_point: int


def open_payload(payload: BytesLike) -> tuple[bytes, list[OpenedOutput]]:
    """Return the payload with the values of all nodes as outputs, the original outputs first, and their descriptions.

    Values that cannot leave a delegate (dynamically quantized, packed) stay inside. Raises MalformedProgramError for
    bytes that are not a payload.
    """
    graph, data = deserialize_payload(payload)
    made_by: dict[g.ValueId, g.XNode] = {}
    for node in graph.xnodes:
        for name, value in vars(node.xnode_union).items():
            if name.startswith("output") and name.endswith("_id"):
                made_by[value] = node
    tensors = {_tensor(xvalue).id_out: xvalue for xvalue in graph.xvalues}
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
    member = value.xvalue_union
    return member.tensor_value if isinstance(member, g.QuantizedTensorValue) else member


def _dtype(tensor: g.TensorValue) -> ScalarType | None:
    return _DTYPES.get(g.DataType(tensor.datatype))


def _output(value: g.XValue, node: g.XNode | None) -> OpenedOutput:
    member, tensor = value.xvalue_union, _tensor(value)
    dtype = _dtype(tensor)
    assert dtype is not None  # every delegate argument has one of these dtypes
    scale, zero_point = 1.0, 0
    if isinstance(member, g.QuantizedTensorValue) and isinstance(member.quant_params, g.PerTensorQuant):
        scale, zero_point = member.quant_params.scale, member.quant_params.zero_point
    kind = "" if node is None else type(node.xnode_union).__name__
    handle = 0 if node is None else node.debug_handle
    return OpenedOutput(kind, handle, dtype, tuple(tensor.dims), scale, zero_point)
