# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""One partition as XNNPACK's graph. Rules (operators/) say what each node becomes; this keeps its values.

A value exists in the orders of dimensions that its readers ask for: one that is read in another order is transposed
then, once. So images keep their channels last from the first convolution to the last, permutations cancel, and
transpositions stand only where a value meets a reader that needs another order: mostly at the edges of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.elements import Elements, numbers, per_tensor, while_running
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
from executorch.exir.named_data import NamedDataStore

Limits = tuple[float, float]


@dataclass(frozen=True)
class Fused:
    """What is made together with a node: `result` is the last of them, `limits` an activation's bounds, `scale` the
    factor and offset of each channel of a batch norm. `on_integers`: its operands are read as the integers that are
    dequantized for it, and its result, a quantize, is made as such.
    """

    result: Node
    limits: Limits | None = None
    scale: tuple[torch.Tensor, torch.Tensor] | None = None
    on_integers: bool = False


class Lowering:
    """The values of one graph while its nodes are made, in graph order."""

    def __init__(self, program: ExportedProgram, names: NamedDataStore, fused: Mapping[Node, Fused]) -> None:
        self.program = program
        self.writer = GraphWriter(names)
        self._fused = fused
        self._values: dict[Node, dict[Order, int]] = {}
        # Nodes that are permutations of others: the other, and which of its dimensions each of the node's is.
        self._permuted: dict[Node, tuple[Node, Order]] = {}
        # What the node that is made now reads instead of numbers: the integers behind them.
        self._integers: dict[Node, Node] = {}
        self._quantized: dict[tuple[Node, int], int] = {}
        self._outputs = [node for node in _outputs(program) if isinstance(node, Node)]

    def start(self, node: Node) -> None:
        """`node` is what is made from here on."""
        sources = node.all_input_nodes if self.on_integers(node) else ()
        self._integers = {each: cast(Node, each.args[0]) for each in sources if affine(each)}

    def on_integers(self, node: Node) -> bool:
        """Whether a node reads and makes integers that stand for numbers."""
        return node in self._fused and self._fused[node].on_integers

    def constant(self, node: Node) -> torch.Tensor | None:
        """The tensor of a constant of the program; None for what is computed."""
        return constant_tensor(self.program, self._integers.get(node, node))

    def is_constant(self, node: Node) -> bool:
        """Whether `constant` gives a tensor."""
        return is_constant(self.program, self._integers.get(node, node))

    def elements(self, node: Node) -> Elements:
        """What the elements of a node's tensor are; of a node that is made as integers, those of its result."""
        made = self._fused[node].result if self.on_integers(node) else self._integers.get(node, node)
        meant = None if _dtype(made).is_floating_point else stands_for(made)
        return per_tensor(meant.dtype, meant.scale, meant.zero_point) if meant else numbers(_dtype(made))

    def quantized_rows(self, source: Node) -> int:
        """The value of a node, each of whose rows is quantized while running."""
        return self._quantized_while_running(source, None, 1)

    def quantized_images(self, source: Node) -> int:
        """The value of a node of images, channels last, each of which is quantized while running."""
        return self._quantized_while_running(source, CHANNELS_LAST, 3)

    def _quantized_while_running(self, source: Node, order: Order | None, together: int) -> int:
        if (source, together) not in self._quantized:
            made = self.writer.value(while_running(together), self.shape(source, order))
            self.writer.node(g.Convert(self.single(source, order), made), _handle(source))
            self._quantized[source, together] = made
        return self._quantized[source, together]

    def single(self, node: Node, order: Order | None = None) -> int:
        """The value of a node in single precision."""
        tensor = self.constant(node)
        if tensor is not None:
            return self.writer.constant(_in_order(tensor, order or plain(tensor.dim())).float())
        value = self.read(node, order)
        if node.meta["val"].dtype == torch.float32:
            return value
        made = self.writer.value(torch.float32, self.shape(node, order))
        self.writer.node(g.Convert(value, made), _handle(node))
        return made

    def add_in_single(self, kind: Callable[[int], object], node: Node) -> None:
        """Adds what `node` becomes, `kind` of its result, which is computed in single precision."""
        if node.meta["val"].dtype == torch.float32:
            self.add(kind(self.result(node)), node)
            return
        made = self.writer.value(torch.float32, self.shape(node))
        self.add(kind(made), node)
        self.writer.node(g.Convert(made, self.result(node)), _handle(node))

    def shape(self, node: Node, order: Order | None = None) -> list[int]:
        """The upper bounds of a node's sizes, in the program's or another order."""
        sizes = upper_bounds(node)
        return sizes if order is None else arranged(sizes, order)

    def read(self, node: Node, order: Order | None = None) -> int:
        """The value of a node in an order of its dimensions, the program's by default. A constant may be read in an
        order of more dimensions than it has: those in front are of size 1, as in broadcasting.
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
        """The orders in which a node can be read without transposing it; none for a constant, to which all are one."""
        if self.is_constant(node):
            return []
        root, permutation = self._root(node)
        return [seen_through(order, inverse(permutation)) for order in self._orders(root)]

    def order_of(self, *operands: Node) -> Order:
        """The order in which a node without a preference reads its operands and makes its result: that in which most
        of their bytes are. Operands of fewer dimensions than others, constants aside, have none but the program's.
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

    def operand(self, node: Node, order: Order) -> int:
        """The value of an operand that is broadcast to results in `order`."""
        return self.read(node, order if rank(node) == len(order) or self.is_constant(node) else None)

    def result(self, node: Node, order: Order | None = None) -> int:
        """A value for the node's result, which is about to be made in this order."""
        target = self._fused[node].result if node in self._fused else node
        order = order or plain(rank(target))
        made = self._new_value(target, order)
        self._values.setdefault(target, {})[order] = made
        return made

    def _limits(self, node: Node) -> Limits | None:
        return self._fused[node].limits if node in self._fused else None

    def folded_scale(self, node: Node) -> tuple[torch.Tensor, torch.Tensor] | None:
        """Factor and offset of the channels of a batch norm that is made with `node`."""
        return self._fused[node].scale if node in self._fused else None

    def permute(self, node: Node, source: Node, permutation: Order) -> None:
        """`node` is `source` with its dimensions permuted: nothing is made before it is read."""
        root, earlier = self._root(source)
        target = self._fused[node].result if node in self._fused else node
        if self.is_constant(root):
            self._values[target] = {plain(rank(node)): self.read(root, seen_through(permutation, earlier))}
        else:
            self._permuted[target] = root, seen_through(permutation, earlier)

    def rename(self, node: Node, source: Node) -> None:
        """`node` has the values of `source`."""
        self.permute(node, source, plain(rank(source)))

    def step(
        self,
        node: Node,
        kind: Callable[..., object],
        *operands: int,
        shape: Sequence[int],
        dtype: torch.dtype | None = None,
    ) -> int:
        """A value on the way to `node`'s result, made by a kind of node that has operands alone."""
        made = self.writer.value(dtype or self.elements(node), shape)
        self.writer.node(kind(*operands, made), _handle(node))
        return made

    def reshaped(
        self,
        node: Node,
        value: int,
        sizes: Sequence[object],
        bounds: Sequence[int],
        dtype: Elements | torch.dtype | None = None,
    ) -> int:
        """`value` in another shape, on the way to `node`'s result. At most one of `sizes` is no number."""
        made = self.writer.value(dtype or self.elements(node), bounds)
        self.writer.node(reshape(sizes, value, made), _handle(node))
        return made

    def number(self, node: Node, value: float) -> int:
        """A number as an operand of what computes `node`."""
        return self.writer.constant(torch.tensor(value, dtype=_dtype(node)))

    def add(self, kind: object, node: Node, limits: Limits | None = None) -> None:
        """Adds what `node` becomes, with its limits: its own, or those of the activation that is made with it."""
        self.writer.node(kind, _handle(node), limits or self._limits(node))

    def define_inputs(self, placeholders: Sequence[Node]) -> None:
        """The delegate's inputs, in order: those that are no constants."""
        for node in placeholders:
            if not self.is_constant(node):
                value = node.meta["val"]
                order = order_in_memory(value)
                self._values[node] = {order: self.writer.input(self.elements(node), self.shape(node, order))}

    def define_outputs(self) -> None:
        """Gives the delegate's outputs their values where none has been made in the right order."""
        self._integers = {}
        for number, node in enumerate(self._outputs):
            value = node.meta["val"]
            order = order_in_memory(value)
            if not self.is_constant(node):
                self._orders(self._root(node)[0])
            made = self._values.get(node, {}).get(order)
            if self._outputs.index(node) == number and made is not None and self.writer.is_output(made):
                continue
            made = self.writer.output(number, self.elements(node), self.shape(node, order))
            root, permutation = self._root(node)
            wanted = seen_through(order, permutation)
            if not self.is_constant(node) and wanted not in self._orders(root):
                self._transpose(root, wanted, made)
            else:
                self.writer.node(g.Copy(self.read(node, order), made), 0)

    def _root(self, node: Node) -> tuple[Node, Order]:
        """The node that was made, of which this one is a permutation."""
        seen = self._integers.get(node, node)
        return self._permuted.get(seen, (seen, plain(rank(seen))))

    def _orders(self, node: Node) -> dict[Order, int]:
        """The values of a node that was made. What is dequantized is made when it is read as numbers."""
        if node not in self._values and affine(node) is not None:
            source = cast(Node, node.args[0])
            order = self.order_of(source)
            self.add(g.Convert(self.read(source, order), self.result(node, order)), node)
        return self._values[node]

    def _new_value(self, node: Node, order: Order) -> int:
        value, shape = node.meta["val"], self.shape(node, order)
        number = self._outputs.index(node) if node in self._outputs else None
        made = self._values.get(node, {}).get(order)
        taken = made is not None and self.writer.is_output(made)
        if number is not None and order == order_in_memory(value) and not taken:
            return self.writer.output(number, self.elements(node), shape)
        return self.writer.value(self.elements(node), shape)

    def _transpose(self, node: Node, wanted: Order, made: int) -> None:
        """Makes the value `made`: that of a node in an order in which it is not there yet."""
        present, source = next(iter(self._values[node].items()))
        steps = [present.index(dim) for dim in wanted]
        self.writer.node(g.StaticTranspose(len(steps), steps, source, made), _handle(node))
        self._values[node][wanted] = made


def reshape(sizes: Sequence[object], value: int, made: int) -> g.StaticReshape:
    """The reshape of `value` to `made`, at most one of whose sizes is no number."""
    # XNNPACK takes 0 for the size that follows from the others.
    shape = [size if isinstance(size, int) else 0 for size in sizes]
    return g.StaticReshape(len(shape), shape, value, made)


def _in_order(tensor: torch.Tensor, order: Order) -> torch.Tensor:
    if order == plain(len(order)):
        return tensor
    # Broadcasting aligns dimensions at the last one.
    return tensor.reshape((1,) * (len(order) - tensor.dim()) + tuple(tensor.shape)).permute(order)


def _handle(node: Node) -> int:
    handle = node.meta.get("debug_handle", 0)
    return handle if isinstance(handle, int) else int(handle[0])


def _dtype(node: Node) -> torch.dtype:
    """The dtype in which a node computes: that of its (first) result."""
    value = node.meta["val"]
    return (value if isinstance(value, torch.Tensor) else value[0]).dtype


def _outputs(program: ExportedProgram) -> list[object]:
    (returned,) = program.graph.output_node().args
    return list(returned) if isinstance(returned, (list, tuple)) else [returned]
