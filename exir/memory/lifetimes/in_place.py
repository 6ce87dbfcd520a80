# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Results that may overwrite an operand which nothing reads later.

    y = relu(x)          x dies here, y has x's sizes and layout: both may have the same bytes.

An operator qualifies if element i of the result is computed from element i of each operand of that shape, and written
after it was read. A test runs every operator of the table with its output on top of each operand.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path

from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule, Node

from executorch.exir.graph_module import all_graph_modules
from executorch.exir.memory.functions import alloc
from executorch.exir.memory.lifetimes.specs import out_arguments, placeholder_specs, written_placeholder_names
from executorch.exir.tensor import TensorSpec, ViewSpec

_TABLE = Path(__file__).resolve().parents[3] / "kernels" / "in_place.json"

WORKS_IN_PLACE = frozenset(json.loads(_TABLE.read_text())["any operand"])
"""Out variants, named as in `kernels/*/functions.yaml`, whose output may be any operand of its shape and width."""


def find_in_place(
    graph_module: GraphModule,
    planned: Collection[TensorSpec],
    signature: ExportGraphSignature | None = None,
) -> dict[TensorSpec, TensorSpec]:
    """Return result → the operand whose bytes it may take, for each of the `planned` tensors that may take any.

    An operand is overwritten at most once. Its lifetime, which must be set, ends in the step of the instruction that
    computes the result, where the result's lifetime begins.
    """
    operand_of: dict[TensorSpec, TensorSpec] = {}
    taken = set(placeholder_specs(graph_module.graph.nodes, written_placeholder_names(signature)))
    candidates = set(planned)
    for module in all_graph_modules(graph_module):
        for node in module.graph.nodes:
            result = node.meta.get("spec")
            if (
                not _qualifies(node)
                or result not in candidates
                or isinstance(result, ViewSpec)
                or None in result.lifetime
            ):
                continue
            for operand in node.all_input_nodes:
                spec = _whole(operand.meta.get("spec"))
                if spec is None or spec not in candidates or spec in taken:
                    continue
                if spec.lifetime[1] == result.lifetime[0] and _same_elements(operand, node) and _read_alike(node, spec):
                    operand_of[result] = spec
                    taken.add(spec)
                    break
    return operand_of


def takes_over(result: TensorSpec, operand: TensorSpec) -> bool:
    """Return whether a result was planned at its operand's place."""
    return (result.mem_id, result.mem_offset) == (operand.mem_id, operand.mem_offset)


def end_overwritten(in_place: Mapping[TensorSpec, TensorSpec]) -> None:
    """End the lifetime of each overwritten operand one step before its result begins."""
    for result, operand in in_place.items():
        first = result.lifetime[0]
        if first is not None and takes_over(result, operand):
            operand.lifetime = [operand.lifetime[0], first - 1]


def _qualifies(node: Node) -> bool:
    name = getattr(node.target, "name", None)
    return node.op == "call_function" and callable(name) and name() in WORKS_IN_PLACE and len(out_arguments(node)) == 1


def _whole(spec: object) -> TensorSpec | None:
    """Return the tensor whose bytes are exactly those of the spec; None if the spec describes a part of a tensor."""
    if isinstance(spec, ViewSpec):
        return spec.base if spec.byte_offset == 0 and spec.nbytes() == spec.base.nbytes() else None
    return spec if isinstance(spec, TensorSpec) else None


def _same_elements(operand: Node, node: Node) -> bool:
    """Return whether element i of both has the same byte offset, for all dynamic sizes."""
    left, right = operand.meta["spec"], node.meta["spec"]
    shapes = [[str(size) for size in written.meta["val"].shape] for written in (operand, node)]
    return (
        shapes[0] == shapes[1]
        and left.dtype.itemsize == right.dtype.itemsize
        and _order(left) == _order(right)
        and left.nbytes() == right.nbytes()
    )


def _order(spec: TensorSpec) -> list[int]:
    """Return the dim order without dimensions of size 1, whose place in it moves no element."""
    return [dim for dim in spec.dim_order if spec.shape[dim] != 1]


def _read_alike(node: Node, base: TensorSpec) -> bool:
    """Return whether every operand in the memory of `base` has its elements at the result's offsets."""
    for operand in node.all_input_nodes:
        spec = operand.meta.get("spec")
        shown = spec.base if isinstance(spec, ViewSpec) else spec
        if operand.target is not alloc and shown is base and not (_whole(spec) and _same_elements(operand, node)):
            return False
    return True
