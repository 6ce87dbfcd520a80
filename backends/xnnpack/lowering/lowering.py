# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""One partition as XNNPACK's graph. Rules (operators/) say what each node becomes; this keeps its values.

A value exists in the layouts that its readers ask for: one that is read in the other order is transposed then, once.
So images keep their channels last from the first convolution to the last, and transpositions stand only where a plain
tensor meets one: mostly at the edges of the program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import constant_tensor, upper_bounds
from executorch.backends.xnnpack.lowering.graph_writer import GraphWriter
from executorch.backends.xnnpack.lowering.layout import TO_CHANNELS_LAST, TO_PLAIN, Layout, arranged, is_channels_last
from executorch.backends.xnnpack.serialization import xnnpack_graph as g
from executorch.exir.named_data import NamedDataStore

Limits = tuple[float, float]


@dataclass(frozen=True)
class Fused:
    """What is made together with a node: `result` is the last of them, `limits` an activation's bounds, `scale` the
    factor and offset of each channel of a batch norm.
    """

    result: Node
    limits: Limits | None = None
    scale: tuple[torch.Tensor, torch.Tensor] | None = None


class Lowering:
    """The values of one graph while its nodes are made, in graph order."""

    def __init__(self, program: ExportedProgram, names: NamedDataStore, fused: Mapping[Node, Fused]) -> None:
        self.program = program
        self.writer = GraphWriter(names)
        self._fused = fused
        self._values: dict[Node, dict[Layout, int]] = {}
        self._outputs = [node for node in _outputs(program) if isinstance(node, Node)]

    def constant(self, node: Node) -> torch.Tensor | None:
        """The tensor of a constant of the program; None for what is computed."""
        return constant_tensor(self.program, node)

    def shape(self, node: Node) -> list[int]:
        """The upper bounds of a node's sizes."""
        return upper_bounds(node)

    def read(self, node: Node, layout: Layout = Layout.PLAIN) -> int:
        """The value of a node in a layout."""
        layouts = self._values.setdefault(node, {})
        if layout not in layouts:
            layouts[layout] = self._constant_value(node, layout) if not layouts else self._transposed(node, layout)
        return layouts[layout]

    def layout_of(self, *operands: Node) -> Layout:
        """The layout in which a node without a preference reads its operands: that in which most bytes are."""
        last = plain = 0
        for node in operands:
            layouts = self._values.get(node, {})
            if len(node.meta["val"].shape) != 4 and self.constant(node) is None:
                return Layout.PLAIN
            if len(layouts) == 1:
                size = torch.Size(self.shape(node)).numel()
                last += size if Layout.CHANNELS_LAST in layouts else 0
                plain += size if Layout.PLAIN in layouts else 0
        return Layout.CHANNELS_LAST if last > plain else Layout.PLAIN

    def result(self, node: Node, layout: Layout = Layout.PLAIN) -> int:
        """A value for the node's result, which is about to be made in this layout."""
        target = self._fused[node].result if node in self._fused else node
        made = self._new_value(target, layout)
        self._values.setdefault(target, {})[layout] = made
        return made

    def limits(self, node: Node) -> Limits | None:
        """The bounds that an activation after `node`, which is made with it, sets."""
        return self._fused[node].limits if node in self._fused else None

    def folded_scale(self, node: Node) -> tuple[torch.Tensor, torch.Tensor] | None:
        """Factor and offset of the channels of a batch norm that is made with `node`."""
        return self._fused[node].scale if node in self._fused else None

    def shape_in(self, node: Node, layout: Layout) -> list[int]:
        """The upper bounds of a node's sizes, in XNNPACK's order."""
        return arranged(self.shape(node), layout)

    def rename(self, node: Node, source: Node) -> None:
        """`node` has the values of `source`."""
        self._values[node] = self._values.setdefault(source, {})
        if not self._values[source]:
            self.read(source)

    def reuse(self, node: Node, value: int, layout: Layout) -> None:
        """`node`'s result in this layout is a value that there is."""
        self._values[node] = {layout: value}

    def add(self, kind: object, node: Node) -> None:
        """Adds what `node` becomes, with the activation that is made with it."""
        handle = node.meta.get("debug_handle", 0)
        self.writer.node(kind, handle if isinstance(handle, int) else handle[0], self.limits(node))

    def define_inputs(self, placeholders: Sequence[Node]) -> None:
        """The delegate's inputs, in order: those that are no constants."""
        for node in placeholders:
            if self.constant(node) is None:
                value = node.meta["val"]
                layout = Layout.CHANNELS_LAST if is_channels_last(value) else Layout.PLAIN
                made = self.writer.input(value.dtype, arranged(self.shape(node), layout))
                self._values[node] = {layout: made}

    def define_outputs(self) -> None:
        """Gives the delegate's outputs their values where none has been made in the right layout."""
        for number, node in enumerate(self._outputs):
            layout = _layout_of_output(node)
            if self._output_number(node) == number and self._made_as_output(node, layout):
                continue
            source = self.read(node, layout)
            value = node.meta["val"]
            made = self.writer.output(number, value.dtype, arranged(self.shape(node), layout))
            self.writer.node(g.Copy(source, made), 0)

    def _made_as_output(self, node: Node, layout: Layout) -> bool:
        made = self._values.get(node, {}).get(layout)
        return made is not None and self.writer.is_output(made)

    def _output_number(self, node: Node) -> int | None:
        return self._outputs.index(node) if node in self._outputs else None

    def _new_value(self, node: Node, layout: Layout) -> int:
        value, shape = node.meta["val"], arranged(self.shape(node), layout)
        number = self._output_number(node)
        if number is not None and layout is _layout_of_output(node) and not self._made_as_output(node, layout):
            return self.writer.output(number, value.dtype, shape)
        return self.writer.value(value.dtype, shape)

    def _constant_value(self, node: Node, layout: Layout) -> int:
        tensor = self.constant(node)
        assert tensor is not None, f"{node.name} is read before it is made"
        if layout is Layout.CHANNELS_LAST:
            # Broadcasting aligns dimensions at the last one.
            tensor = tensor.reshape((1,) * (4 - tensor.dim()) + tuple(tensor.shape)).permute(TO_CHANNELS_LAST)
        return self.writer.constant(tensor)

    def _transposed(self, node: Node, layout: Layout) -> int:
        if self.constant(node) is not None:
            return self._constant_value(node, layout)
        ((_, source),) = self._values[node].items()
        made = self._new_value(node, layout)
        order = TO_CHANNELS_LAST if layout is Layout.CHANNELS_LAST else TO_PLAIN
        self.writer.node(g.StaticTranspose(len(order), list(order), source, made), 0)
        return made


def _outputs(program: ExportedProgram) -> list[object]:
    (returned,) = program.graph.output_node().args
    return list(returned) if isinstance(returned, (list, tuple)) else [returned]


def _layout_of_output(node: Node) -> Layout:
    return Layout.CHANNELS_LAST if is_channels_last(node.meta["val"]) else Layout.PLAIN
