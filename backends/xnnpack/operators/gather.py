# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Elements at constant places: index, gather, flip, diagonal."""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple, cast

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import constant_tensor, is_constant, is_static, rank, same_sizes
from executorch.backends.xnnpack.lowering.layout import arranged, place_of, plain
from executorch.backends.xnnpack.lowering.lowering import Lowering, reshape
from executorch.backends.xnnpack.operators.integers import if_alike
from executorch.backends.xnnpack.operators.rule import FLOATS_AND_BOOLEANS, Rule, refusal_of_reshape, refusal_of_tensor
from executorch.backends.xnnpack.serialization import xnnpack_graph as g
from executorch.exir.error import Rejection
from executorch.exir.rewrite.node_rewrite import argument

_MAX_PLACES = 1 << 16
"""Limit of the places that a gather reads: the payload stores all places."""


class _Gather(NamedTuple):
    """A gather of `places` along `dims` neighboring dimensions from `first` on, which are read as one."""

    first: int
    dims: int
    places: list[int]


def gather(low: Lowering, node: Node, source: Node, dim: int, places: list[int]) -> None:
    """Emit `node` as the elements of `source` at these places of a dimension."""
    order = low.order_of(source)
    value, output = low.read(source, order), low.result(node, order)
    low.add(g.StaticGather(place_of(dim, order), places, value, output), node)


def refusal_of_places(node: Node, count: int) -> Rejection | None:
    """Refuse to gather more places than a payload should hold."""
    return None if count <= _MAX_PLACES else Rejection(f"it reads {count} places, expected at most {_MAX_PLACES}")


def _indexed(node: Node) -> dict[int, Node]:
    """Dimension → its indices."""
    given = cast("list[Node | None]", node.args[1])
    return {dim: index for dim, index in enumerate(given) if index is not None}


def _refuse_index(node: Node, program: ExportedProgram) -> Rejection | None:
    source, indexed = cast(Node, node.args[0]), _indexed(node)
    rejection = refusal_of_tensor(source, FLOATS_AND_BOOLEANS) or refusal_of_tensor(node, FLOATS_AND_BOOLEANS)
    if rejection:
        return rejection
    if not all(is_constant(program, index) for index in indexed.values()):
        return Rejection("its indices are computed, expected constants")
    if any(index.meta["val"].dtype not in (torch.int64, torch.int32) for index in indexed.values()):
        return Rejection("its indices are not int32 or int64")
    dims = list(indexed)
    if not dims or dims != list(range(dims[0], dims[-1] + 1)):
        return Rejection("it indexes dimensions that are not neighbors")
    if not is_static([source.meta["val"].shape[dim] for dim in dims]):
        return Rejection("the size of an indexed dimension is dynamic")
    if len(dims) > 1 and (rejection := refusal_of_reshape(source.meta["val"].shape)) is not None:
        return rejection
    places = torch.broadcast_shapes(*(index.meta["val"].shape for index in indexed.values()))
    if len(places) != 1 and (rejection := refusal_of_reshape(node.meta["val"].shape)) is not None:
        return rejection
    if any(index.meta["val"].numel() == places.numel() for index in indexed.values()):
        return None  # the payload has 4 bytes for each place, the index that it replaces 4 or 8
    return refusal_of_places(node, places.numel())


def _gathers(low: Lowering, node: Node) -> list[_Gather]:
    """Return the gathers that compute an index operator, the last dimension first.

    Indices that vary along different dimensions, as for windows, are gathered one after the other.
    """
    source, indexed = cast(Node, node.args[0]), _indexed(node)
    tensors = {dim: cast(torch.Tensor, constant_tensor(low.program, index)) for dim, index in indexed.items()}
    sizes = {dim: int(source.meta["val"].shape[dim]) for dim in indexed}
    wrapped = {dim: tensor % sizes[dim] for dim, tensor in tensors.items()}
    result = torch.broadcast_shapes(*(tensor.shape for tensor in tensors.values()))
    varying = [_varying(tensor, len(result)) for tensor in wrapped.values()]
    varying_dims = [dim for dims in varying for dim in dims]
    if varying_dims == sorted(set(varying_dims)):
        return [_Gather(dim, 1, tensor.flatten().tolist()) for dim, tensor in reversed(wrapped.items())]
    places = torch.zeros((), dtype=torch.int64)
    for dim, tensor in wrapped.items():
        places = places * sizes[dim] + tensor
    return [_Gather(min(indexed), len(indexed), places.expand(result).flatten().tolist())]


def _varying(tensor: torch.Tensor, ranks: int) -> list[int]:
    """The dimensions of a broadcast result along which a tensor has more than one element."""
    return [dim + ranks - tensor.dim() for dim, size in enumerate(tensor.shape) if size != 1]


def _index(low: Lowering, node: Node) -> None:
    source = cast(Node, node.args[0])
    gathers, result = _gathers(low, node), node.meta["val"].shape
    if len(gathers) == 1 and gathers[0].dims == 1 and rank(node) == rank(source):
        gather(low, node, source, gathers[0].first, gathers[0].places)
        return
    value, sizes, bounds = low.read(source, plain(rank(source))), list(source.meta["val"].shape), low.shape(source)
    for first, dims, places in gathers:
        if dims > 1:
            for values in (sizes, bounds):
                values[first : first + dims] = [math.prod(cast("list[int]", values[first : first + dims]))]
            value = low.reshaped(node, value, sizes, bounds)
        sizes[first] = bounds[first] = len(places)
        value = low.step(node, partial(g.StaticGather, first, places), value, shape=bounds)
    low.add(reshape(arranged(result, plain(len(result))), value, low.result(node)), node)


def _gathered_dims(node: Node, index: torch.Tensor) -> list[int]:
    """Return the dimensions of a gather's operand in which a place depends on the index: its own, those along which the
    index varies, and those where the index is shorter than the operand.
    """
    source, dim = cast(Node, node.args[0]), cast(int, node.args[1])
    first = [index.narrow(axis, 0, 1) for axis in range(index.dim())]
    return [
        axis
        for axis, size in enumerate(source.meta["val"].shape)
        if axis == dim % rank(source)
        or not same_sizes([size], [index.shape[axis]])
        or not torch.equal(first[axis].expand_as(index), index)
    ]


def _refuse_gather(node: Node, program: ExportedProgram) -> Rejection | None:
    source, dim = cast(Node, node.args[0]), cast(int, node.args[1])
    rejection = refusal_of_tensor(source, FLOATS_AND_BOOLEANS) or refusal_of_tensor(node, FLOATS_AND_BOOLEANS)
    if rejection:
        return rejection
    index = constant_tensor(program, node.args[2])
    if index is None:
        return Rejection("its indices are computed, expected constants")
    if index.dim() == 0 or rank(source) == 0:
        return Rejection("an operand has rank 0")
    if index.numel() == 0:
        return Rejection("it reads no elements")
    sizes = [source.meta["val"].shape[axis] for axis in _gathered_dims(node, index)]
    if not is_static(sizes):
        return Rejection("the size of a gathered dimension is dynamic")
    size = source.meta["val"].shape[dim]
    if int(index.min()) < 0 or int(index.max()) >= size:
        return Rejection(f"an index is outside of its dimension of size {size}")
    return None  # the payload has 4 bytes for each place, the constant that it replaces 8 or more


def _gather(low: Lowering, node: Node) -> None:
    """Read the gathered dimensions as one, in which the place of an element is constant."""
    source, dim = cast(Node, node.args[0]), cast(int, node.args[1]) % rank(cast(Node, node.args[0]))
    index = cast(torch.Tensor, constant_tensor(low.program, node.args[2]))
    gathered = _gathered_dims(node, index)
    for axis in set(range(index.dim())) - set(gathered):
        index = index.narrow(axis, 0, 1)
    places = torch.zeros((), dtype=torch.int64)
    for axis in gathered:
        along = torch.arange(index.shape[axis]).reshape(-1, *[1] * (index.dim() - 1 - axis))
        places = places * source.meta["val"].shape[axis] + (index if axis == dim else along)
    last = gathered[-1]
    outer = [axis for axis in range(last) if axis not in gathered]
    order, first = (*outer, *gathered, *range(last + 1, rank(source))), len(outer)
    value, bounds = low.read(source, order), low.shape(source, order)
    if len(gathered) == 1:
        low.add(g.StaticGather(first, places.flatten().tolist(), value, low.result(node, order)), node)
        return
    bounds[first : first + len(gathered)] = [math.prod(bounds[first : first + len(gathered)])]
    merged = low.reshaped(node, value, bounds, bounds)
    bounds[first] = places.numel()
    value = low.step(node, partial(g.StaticGather, first, places.flatten().tolist()), merged, shape=bounds)
    low.add(reshape(arranged(node.meta["val"].shape, order), value, low.result(node, order)), node)


def _flipped(node: Node) -> list[int]:
    return [dim % max(rank(node), 1) for dim in cast("list[int]", node.args[1])]


def _refuse_flip(node: Node, program: ExportedProgram) -> Rejection | None:
    sizes = [node.meta["val"].shape[dim] for dim in _flipped(node)]
    if not sizes or not is_static(sizes):
        return Rejection("the size of a flipped dimension is dynamic" if sizes else "it flips no dimension")
    return refusal_of_places(node, sum(cast("list[int]", sizes)))


def _flip(low: Lowering, node: Node) -> None:
    source, dims = cast(Node, node.args[0]), _flipped(node)
    order = low.order_of(source)
    value, shape = low.read(source, order), low.shape(source, order)
    for number, dim in enumerate(dims):
        axis = place_of(dim, order)
        kind = partial(g.StaticGather, axis, list(range(shape[axis]))[::-1])
        if number + 1 < len(dims):
            value = low.step(node, kind, value, shape=shape)
        else:
            low.add(kind(value, low.result(node, order)), node)


def _diagonal_places(node: Node) -> range:
    """Return the places of a diagonal in the flattened last two dimensions of its operand."""
    *_, rows, columns = cast(Node, node.args[0]).meta["val"].shape
    first, second = (argument(node, name) % rank(cast(Node, node.args[0])) for name in ("dim1", "dim2"))
    offset = argument(node, "offset") if first < second else -argument(node, "offset")
    row, column = max(-offset, 0), max(offset, 0)
    start, step = row * columns + column, columns + 1
    return range(start, start + step * max(min(rows - row, columns - column), 0), step)


def _refuse_diagonal(node: Node, program: ExportedProgram) -> Rejection | None:
    source = cast(Node, node.args[0])
    dims = {argument(node, name) % rank(source) for name in ("dim1", "dim2")}
    if dims != {rank(source) - 2, rank(source) - 1}:
        return Rejection("it is not a diagonal of the last two dimensions")
    if not is_static(source.meta["val"].shape[-2:]):
        return Rejection("the size of one of its dimensions is dynamic")
    return refusal_of_reshape(source.meta["val"].shape) or refusal_of_places(node, len(_diagonal_places(node)))


def _diagonal(low: Lowering, node: Node) -> None:
    source = cast(Node, node.args[0])
    *outer, rows, columns = source.meta["val"].shape
    *outer_bounds, _, _ = low.shape(source)
    value = low.read(source, plain(rank(source)))
    flat = low.reshaped(node, value, [*outer, rows * columns], [*outer_bounds, rows * columns])
    low.add(g.StaticGather(len(outer), list(_diagonal_places(node)), flat, low.result(node)), node)


RULES: dict[str, Rule] = {
    "index.Tensor": Rule(_index, _refuse_index, any_tensors=True),
    "gather.default": Rule(_gather, _refuse_gather, any_tensors=True),
    "flip.default": Rule(_flip, _refuse_flip, on_integers=if_alike, booleans=True),
    "diagonal_copy.default": Rule(_diagonal, _refuse_diagonal, on_integers=if_alike),
}
