# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Lowering: translates one partition to an XNNPACK graph. Rules (operators/) emit the nodes; Lowering keeps the values.

A value exists in the dimension orders that its readers request. The first read in a new order emits one transposition,
which later readers share. Images therefore stay channels-last from the first convolution to the last, permutations
cancel, and transpositions remain mostly at the edges of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.elements import Elements, per_tensor, quantized_at_run_time, unquantized
from executorch.backends.xnnpack.lowering.facts import constant_tensor, is_constant, rank, upper_bounds
from executorch.backends.xnnpack.lowering.graph_writer import GraphWriter
from executorch.backends.xnnpack.lowering.layout import (
    CHANNELS_LAST,
    Order,
    arranged,
    inverse,
    order_in_memory,
    plain,
    seen_through,
)
from executorch.backends.xnnpack.lowering.quantization import affine, stands_for
from executorch.backends.xnnpack.serialization import xnnpack_graph as g
from executorch.exir.format.named_data import NamedDataStore

ClampBounds = tuple[float, float]


@dataclass(frozen=True)
class Fused:
    """Nodes fused with a first node.

    result: the last fused node. clamp: bounds of a fused activation. scale: factor and offset of each channel of a
    fused batch norm. on_integers: the operands are read before their dequantize, and `result` is the quantize.
    """

    result: Node
    clamp: ClampBounds | None = None
    scale: tuple[torch.Tensor, torch.Tensor] | None = None
    on_integers: bool = False


class Lowering:
    """The values of one graph while its nodes are emitted in graph order."""

    def __init__(self, program: ExportedProgram, names: NamedDataStore, fused: Mapping[Node, Fused]) -> None:
        self.program = program
        self.writer = GraphWriter(names)
        self._fused = fused
        self._values: dict[Node, dict[Order, g.ValueId]] = {}
        # Permuted node → (source, permutation of the source's dimensions).
        self._permuted: dict[Node, tuple[Node, Order]] = {}
        # Operands of the node being emitted that it reads as integers: dequantize node → its integer source.
        self._integers: dict[Node, Node] = {}
        self._quantized: dict[tuple[Node, int], g.ValueId] = {}
        self._constants: dict[Node, bool] = {}  # operand → whether it is a constant
        self._outputs = [node for node in _outputs(program) if isinstance(node, Node)]

    def start(self, node: Node) -> None:
        """Begin to emit `node`."""
        sources = node.all_input_nodes if self.on_integers(node) else ()
        self._integers = {source: cast(Node, source.args[0]) for source in sources if affine(source)}

    def on_integers(self, node: Node) -> bool:
        """Return whether a node computes on quantized integers."""
        return node in self._fused and self._fused[node].on_integers

    def constant(self, node: Node) -> torch.Tensor | None:
        """Tensor of a constant; None for a computed node."""
        return constant_tensor(self.program, self._integers.get(node, node)) if self.is_constant(node) else None

    def is_constant(self, node: Node) -> bool:
        """Return whether `constant` gives a tensor."""
        seen = self._integers.get(node, node)
        if seen not in self._constants:
            self._constants[seen] = is_constant(self.program, seen)
        return self._constants[seen]

    def elements(self, node: Node) -> Elements:
        """Element type of a node's value; for a node computed on integers, that of its fused result."""
        represented = self._fused[node].result if self.on_integers(node) else self._integers.get(node, node)
        parameters = None if _dtype(represented).is_floating_point else stands_for(represented)
        return (
            per_tensor(parameters.dtype, parameters.scale, parameters.zero_point)
            if parameters
            else unquantized(_dtype(represented))
        )

    def quantized_rows(self, source: Node) -> g.ValueId:
        """The value of a node with each row quantized dynamically."""
        return self._dynamically_quantized(source, None, 1)

    def quantized_images(self, source: Node) -> g.ValueId:
        """The value of a node of channels-last images with each image quantized dynamically."""
        return self._dynamically_quantized(source, CHANNELS_LAST, 3)

    def _dynamically_quantized(self, source: Node, order: Order | None, together: int) -> g.ValueId:
        if (source, together) not in self._quantized:
            converted = self.writer.value(quantized_at_run_time(together), self.shape(source, order))
            self.writer.node(g.Convert(self.single(source, order), converted), _handle(source))
            self._quantized[source, together] = converted
        return self._quantized[source, together]

    def single(self, node: Node, order: Order | None = None) -> g.ValueId:
        """The value of a node in float32."""
        tensor = self.constant(node)
        if tensor is not None:
            return self.writer.constant(_in_order(tensor, order or plain(tensor.dim())).float())
        value = self.read(node, order)
        if node.meta["val"].dtype == torch.float32:
            return value
        converted = self.writer.value(torch.float32, self.shape(node, order))
        self.writer.node(g.Convert(value, converted), _handle(node))
        return converted

    def add_in_single(self, kind: Callable[[g.ValueId], object], node: Node) -> None:
        """Emit `node` as `kind(result)` computed in float32, then convert to the node's dtype."""
        if node.meta["val"].dtype == torch.float32:
            self.add(kind(self.result(node)), node)
            return
        unrounded = self.writer.value(torch.float32, self.shape(node))
        self.add(kind(unrounded), node)
        self.writer.node(g.Convert(unrounded, self.result(node)), _handle(node))

    def shape(self, node: Node, order: Order | None = None) -> list[int]:
        """The upper bounds of a node's sizes, in the program's or another order."""
        sizes = upper_bounds(node)
        return sizes if order is None else arranged(sizes, order)

    def read(self, node: Node, order: Order | None = None) -> g.ValueId:
        """The value of a node in a dimension order, by default the program's. `order` may have more dimensions than a
        constant: leading dimensions of size 1 are added, as in broadcasting.
        """
        tensor = self.constant(node)
        if tensor is not None:
            return self.writer.constant(_in_order(tensor, order or plain(tensor.dim())), self.elements(node))
        root, permutation = self._root(node)
        wanted = seen_through(order or plain(rank(node)), permutation)
        orders = self._orders(root)
        if wanted not in orders:
            self._transpose(root, wanted, self._new_value(root, wanted))
        return orders[wanted]

    def orders_of(self, node: Node) -> list[Order]:
        """The orders in which a node can be read without a transposition; empty for a constant, which is free in
        any.
        """
        if self.is_constant(node):
            return []
        root, permutation = self._root(node)
        return [seen_through(order, inverse(permutation)) for order in self._orders(root)]

    def order_of(self, *operands: Node) -> Order:
        """The order for operands and result of a node without a preference: that of most operand bytes. If computed
        operands differ in rank, the program's order.
        """
        ranks = [rank(node) for node in operands]
        best = plain(max(ranks))
        computed = [node for node in operands if not self.is_constant(node)]
        if any(rank(node) != max(ranks) for node in computed):
            return best
        bytes_in: dict[Order, int] = {best: 0}
        for node in computed:
            size = torch.Size(self.shape(node)).numel()
            for order in self.orders_of(node):
                bytes_in[order] = bytes_in.get(order, 0) + size
        return max(bytes_in, key=lambda order: bytes_in[order])

    def operand(self, node: Node, order: Order) -> g.ValueId:
        """The value of an operand that is broadcast to a result in `order`."""
        return self.read(node, order if rank(node) == len(order) or self.is_constant(node) else None)

    def result(self, node: Node, order: Order | None = None) -> g.ValueId:
        """Add a value for the node's result in this order."""
        target = self._fused[node].result if node in self._fused else node
        order = order or plain(rank(target))
        value = self._new_value(target, order)
        self._values.setdefault(target, {})[order] = value
        return value

    def _fused_clamp(self, node: Node) -> ClampBounds | None:
        return self._fused[node].clamp if node in self._fused else None

    def folded_scale(self, node: Node) -> tuple[torch.Tensor, torch.Tensor] | None:
        """Factor and offset of each channel of the batch norm fused into `node`; None without one."""
        return self._fused[node].scale if node in self._fused else None

    def permute(self, node: Node, source: Node, permutation: Order) -> None:
        """Record `node` as a permutation of `source`; readers emit a transposition if they need one."""
        root, earlier = self._root(source)
        target = self._fused[node].result if node in self._fused else node
        if self.is_constant(root):
            self._values[target] = {plain(rank(node)): self.read(root, seen_through(permutation, earlier))}
        else:
            self._permuted[target] = root, seen_through(permutation, earlier)

    def rename(self, node: Node, source: Node) -> None:
        """Record `node` as another name of `source`."""
        self.permute(node, source, plain(rank(source)))

    def step(
        self,
        node: Node,
        kind: Callable[..., object],
        *operands: g.ValueId,
        shape: Sequence[int],
        dtype: torch.dtype | None = None,
    ) -> g.ValueId:
        """Emit an intermediate node `kind(*operands, result)` on the way to `node`'s result; return its value."""
        result = self.writer.value(dtype or self.elements(node), shape)
        self.writer.node(kind(*operands, result), _handle(node))
        return result

    def reshaped(
        self,
        node: Node,
        value: g.ValueId,
        sizes: Sequence[object],
        bounds: Sequence[int],
        dtype: Elements | torch.dtype | None = None,
    ) -> g.ValueId:
        """Emit a reshape of `value` on the way to `node`'s result. At most one of `sizes` is dynamic."""
        result = self.writer.value(dtype or self.elements(node), bounds)
        self.writer.node(reshape(sizes, value, result), _handle(node))
        return result

    def scalar(self, node: Node, value: float) -> g.ValueId:
        """Add a scalar constant of the dtype in which `node` is computed."""
        return self.writer.constant(torch.tensor(value, dtype=_dtype(node)))

    def add(self, kind: object, node: Node, clamp: ClampBounds | None = None) -> None:
        """Emit the XNNPACK node of `node`, clamped to `clamp` or to the bounds of its fused activation."""
        self.writer.node(kind, _handle(node), clamp or self._fused_clamp(node))

    def add_in_full_precision(self, kind: object, node: Node) -> None:
        """Emit a product on the way to `node`'s result; its factors stay in float32 whatever the compute precision."""
        before, self.writer.full_precision = self.writer.full_precision, True
        self.writer.node(kind, _handle(node))
        self.writer.full_precision = before

    def define_inputs(self, placeholders: Sequence[Node]) -> None:
        """Add the delegate's inputs: the placeholders that are not constants, in order."""
        for node in placeholders:
            if not self.is_constant(node):
                value = node.meta["val"]
                order = order_in_memory(value)
                self._values[node] = {order: self.writer.input(self.elements(node), self.shape(node, order))}

    def define_outputs(self) -> None:
        """Add the outputs that were not yet emitted in their declared order."""
        self._integers = {}
        for number, node in enumerate(self._outputs):
            value = node.meta["val"]
            order = order_in_memory(value)
            if not self.is_constant(node):
                self._orders(self._root(node)[0])
            output = self._values.get(node, {}).get(order)
            if self._outputs.index(node) == number and output is not None and self.writer.is_output(output):
                continue
            output = self.writer.output(number, self.elements(node), self.shape(node, order))
            root, permutation = self._root(node)
            wanted = seen_through(order, permutation)
            if not self.is_constant(node) and wanted not in self._orders(root):
                self._transpose(root, wanted, output)
            else:
                self.writer.node(g.Copy(self.read(node, order), output), 0)

    def _root(self, node: Node) -> tuple[Node, Order]:
        """Return an emitted node and the permutation that turns it into `node`."""
        seen = self._integers.get(node, node)
        return self._permuted.get(seen, (seen, plain(rank(seen))))

    def _orders(self, node: Node) -> dict[Order, g.ValueId]:
        """Order → value of an emitted node. A dequantize is emitted when first read as float."""
        if node not in self._values and affine(node) is not None:
            source = cast(Node, node.args[0])
            order = self.order_of(source)
            self.add(g.Convert(self.read(source, order), self.result(node, order)), node)
        return self._values[node]

    def _new_value(self, node: Node, order: Order) -> g.ValueId:
        value, shape = node.meta["val"], self.shape(node, order)
        number = self._outputs.index(node) if node in self._outputs else None
        existing = self._values.get(node, {}).get(order)
        taken = existing is not None and self.writer.is_output(existing)
        if number is not None and order == order_in_memory(value) and not taken:
            return self.writer.output(number, self.elements(node), shape)
        return self.writer.value(self.elements(node), shape)

    def _transpose(self, node: Node, wanted: Order, result: g.ValueId) -> None:
        """Emit a transposition of `node` to `wanted`, an order that does not exist yet, into value `result`."""
        present, source = next(iter(self._values[node].items()))
        steps = [present.index(dim) for dim in wanted]
        self.writer.node(g.StaticTranspose(len(steps), steps, source, result), _handle(node))
        self._values[node][wanted] = result


def reshape(sizes: Sequence[object], value: g.ValueId, result: g.ValueId) -> g.StaticReshape:
    """The reshape of `value` to `result`. Dynamic sizes but the last are those of `value` at the same places."""
    # The runtime infers the last size of 0. XNNPACK and ExecuTorch 1.4 take at most one.
    shape = fixed_sizes(sizes)
    return g.StaticReshape(len(shape), shape, value, result)


def fixed_sizes(sizes: Sequence[object]) -> list[int]:
    """Return the sizes as a payload has them: 0 for those that are dynamic."""
    return [size if isinstance(size, int) else 0 for size in sizes]


def _in_order(tensor: torch.Tensor, order: Order) -> torch.Tensor:
    if order == plain(len(order)):
        return tensor
    # Broadcasting aligns dimensions at the last one.
    return tensor.reshape((1,) * (len(order) - tensor.dim()) + tuple(tensor.shape)).permute(order)


def _handle(node: Node) -> int:
    handle = node.meta.get("debug_handle", 0)
    return handle if isinstance(handle, int) else int(handle[0])


def _dtype(node: Node) -> torch.dtype:
    """The dtype in which a node computes: that of its first result."""
    value = node.meta["val"]
    return (value if isinstance(value, torch.Tensor) else value[0]).dtype


def _outputs(program: ExportedProgram) -> list[object]:
    (returned,) = program.graph.output_node().args
    return list(returned) if isinstance(returned, (list, tuple)) else [returned]
