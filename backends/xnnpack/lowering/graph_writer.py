# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""GraphWriter: collects the values and nodes of one delegate's graph."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import torch

from executorch.backends.xnnpack.lowering.elements import Elements, unquantized
from executorch.backends.xnnpack.serialization import xnnpack_graph as g
from executorch.backends.xnnpack.serialization.payload import ConstantData, serialize_payload
from executorch.exir.format.named_data import NamedDataStore

# XNNPACK reads unpacked constants by vectors of up to 64 bytes.
_CONSTANT_ALIGNMENT = 64
# Operands that XNNPACK packs.
_PACKED = ("filter_id", "bias_id")


class GraphWriter:
    """Builder of one graph. Ids are those of the payload's values."""

    def __init__(self, names: NamedDataStore) -> None:
        self._graph = g.XNNGraph(version="0")
        self._constants = ConstantData()
        self._names = names
        self.file: str | None = None
        """Name of the external file for constants added from now on; None stores them in the program."""
        self.full_precision = False
        """Products added from now on keep their factors in float32, whatever the compute precision."""
        self._files: dict[str, str | None] = {}
        self._known: dict[tuple[str, tuple[int, ...], str], g.ValueId] = {}
        self._outputs: dict[int, g.ValueId] = {}

    def value(self, elements: Elements | torch.dtype, shape: Sequence[int]) -> g.ValueId:
        """Add an intermediate value; `shape` is its upper bound."""
        return self._tensor(elements, shape, g.INVALID_ID, 0)

    def input(self, elements: Elements, shape: Sequence[int]) -> g.ValueId:
        """Add a value that is the delegate's next input."""
        value = self._tensor(elements, shape, len(self._graph.input_ids), g.FLAG_EXTERNAL_INPUT)
        self._graph.input_ids.append(value)
        return value

    def output(self, number: int, elements: Elements, shape: Sequence[int]) -> g.ValueId:
        """Add a value that is the delegate's output `number`. All inputs must have been added."""
        value = self._tensor(elements, shape, len(self._graph.input_ids) + number, g.FLAG_EXTERNAL_OUTPUT)
        self._outputs[number] = value
        return value

    def is_output(self, value: g.ValueId) -> bool:
        """Return whether a value is one of the delegate's outputs."""
        return value in self._outputs.values()

    def constant(
        self, tensor: torch.Tensor, elements: Elements | None = None, shape: Sequence[int] | None = None
    ) -> g.ValueId:
        """Add a constant value. Its bytes go to the program's named data; delegates with equal bytes share them.

        elements: element type; by default that of the tensor. shape: of the value, where it differs from the tensor's,
        as for 4-bit elements.
        """
        element_format = elements or unquantized(tensor.dtype)
        sizes = tuple(tensor.shape if shape is None else shape)
        key, size = self._named(tensor)
        known = self._known.get((key, sizes, str(element_format)))
        if known is None:
            known = self._tensor(element_format, sizes, g.INVALID_ID, 0, self._constants.add_named(key, size))
            self._known[key, sizes, str(element_format)] = known
        return known

    def data(self, tensor: torch.Tensor) -> int:
        """Add bytes that are not a value, such as scales; return their index among the constants."""
        return self._constants.add_named(*self._named(tensor))

    def _named(self, tensor: torch.Tensor) -> tuple[str, int]:
        """Store a tensor's bytes in the program's named data, equal bytes once; return (key, size)."""
        content = tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        key = hashlib.sha256(content).hexdigest()
        file = self._files.setdefault(key, self.file)
        self._names.add_named_data(key, content, alignment=_CONSTANT_ALIGNMENT, external_tag=file)
        return key, len(content)

    def node(self, node: object, debug_handle: int, clamp: tuple[float, float] | None = None) -> None:
        """Add a node; `clamp`: the bounds of its results."""
        bounds = None if clamp is None else g.OutputMinMax(*clamp)
        self._graph.xnodes.append(g.XNode(node, debug_handle, bounds, self.full_precision))

    def payload(self) -> bytes:
        """Return the payload's bytes. All outputs must have been added."""
        self._part_packed_from_read()
        self._graph.output_ids = [self._outputs[number] for number in range(len(self._outputs))]
        self._graph.num_externs = len(self._graph.input_ids) + len(self._graph.output_ids)
        return serialize_payload(self._graph, self._constants)

    def _part_packed_from_read(self) -> None:
        """Give packed weights values that nothing else reads: ExecuTorch 1.4 frees weights after packing."""
        read = {
            value
            for xnode in self._graph.xnodes
            for name, value in vars(xnode.xnode_union).items()
            if name.endswith("_id") and name not in _PACKED and value != g.INVALID_ID
        }
        own: dict[g.ValueId, g.ValueId] = {}
        for node in self._graph.xnodes:
            for name in _PACKED:
                shared = getattr(node.xnode_union, name, g.INVALID_ID)
                if shared not in read:
                    continue
                if shared not in own:
                    own[shared] = self._copy(shared)
                setattr(node.xnode_union, name, own[shared])

    def _copy(self, value: g.ValueId) -> g.ValueId:
        copied_value = g.ValueId(len(self._graph.xvalues))
        member = self._graph.xvalues[value].xvalue_union
        if isinstance(member, g.QuantizedTensorValue):
            tensor = replace(member.tensor_value, id_out=copied_value)
            self._graph.xvalues.append(g.XValue(replace(member, tensor_value=tensor)))
        else:
            self._graph.xvalues.append(g.XValue(replace(member, id_out=copied_value)))
        return copied_value

    def _tensor(
        self,
        elements: Elements | torch.dtype,
        shape: Sequence[int],
        external_id: int,
        flags: int,
        constant_index: int = 0,
    ) -> g.ValueId:
        value = g.ValueId(len(self._graph.xvalues))
        dims = [int(size) for size in shape]
        element_format = unquantized(elements) if isinstance(elements, torch.dtype) else elements
        tensor = g.TensorValue(element_format.datatype, len(dims), dims, constant_index, external_id, flags, value)
        quantized = (
            None if element_format.parameters is None else g.QuantizedTensorValue(tensor, element_format.parameters)
        )
        self._graph.xvalues.append(g.XValue(quantized or tensor))
        return value
