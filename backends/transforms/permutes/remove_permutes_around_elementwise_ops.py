# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Remove a permute and its inverse around elementwise operators, which then compute on the unpermuted tensor.

permute(p) ─▶ add, mul, cat, mean … ─▶ permute(inverse of p)   becomes   add, mul, cat, mean …
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx
from torch.fx import Node
from torch.fx.passes.infra.pass_base import PassResult

from executorch.backends.transforms.dead_code import without_dead_code
from executorch.backends.transforms.permutes.permute_pass_utils import (
    VIEWS,
    extra_unit_dim,
    get_arg,
    inverse_permutation,
    permutation_of,
    set_arg,
)
from executorch.exir.dialects._ops import ops
from executorch.exir.pass_base import ExportPass
from executorch.exir.rewrite.node_rewrite import origin_of

_aten: Any = ops.edge.aten
_quantized: Any = ops.edge.quantized_decomposed
_permute: Any = _aten.permute_copy.default
_UNSQUEEZE: Any = _aten.unsqueeze_copy.default
_SQUEEZE: Any = _aten.squeeze_copy.dim
_REDUCTIONS = (_aten.mean.dim, _aten.sum.dim_IntList)
# Operators with a `dim` argument that names a dimension of their operands.
_ALONG_ONE_DIM = (_aten.cat.default, _aten.slice_copy.Tensor)
_CONSTANT_PREFIXES = ("p_", "b_", "c_", "_lifted_tensor_constant")


class _Blocked(Exception):
    """Raised for a node that prevents the rewrite of its region."""


@dataclass
class _Region:
    """Connected nodes that compute permuted tensors.

    inputs, outputs: node → permutation of its operands, of its result. They differ if a view adds or removes a
    dimension.
    """

    inputs: dict[Node, list[int]] = field(default_factory=dict)
    outputs: dict[Node, list[int]] = field(default_factory=dict)
    entering: list[tuple[Node, Node]] = field(default_factory=list)  # permute, reader
    leaving: list[tuple[Node, Node]] = field(default_factory=list)  # node, permute
    constants: list[tuple[Node, Node]] = field(default_factory=list)  # constant, reader


class RemovePermutesAroundElementwiseOps(ExportPass):
    """Removes the permutes around regions of elementwise operators. A region may include `mean`, `sum`, `cat`, `slice`
    and views that add or remove a size of 1.

    extra_permutable_ops: further edge operators whose result does not depend on the order of the dimensions.
    """

    def __init__(self, extra_permutable_ops: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._permutable_ops = {
            *_ALONG_ONE_DIM,
            *_REDUCTIONS,
            _aten.hardtanh.default,
            _quantized.quantize_per_tensor.default,
            _quantized.dequantize_per_tensor.default,
            *(extra_permutable_ops or ()),
        }

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        seen: set[Node] = set()
        for permute in graph_module.graph.find_nodes(op="call_function", target=_permute):
            for user in list(permute.users):
                dims = self.get_permutation(permute)
                if user in seen or user not in permute.users or dims is None or not self.is_node_permutable(user):
                    continue
                region = _Region()
                try:
                    self._grow(region, user, dims)
                except _Blocked:
                    continue
                seen.update(region.inputs)
                if region.leaving:
                    _rewrite(region)
                    modified = True
        if not modified:
            return PassResult(graph_module, False)
        return super().call(without_dead_code(graph_module))

    def is_node_permutable(self, node: Node) -> bool:
        """Return whether a node may be part of a region."""
        if node.op != "call_function":
            return False
        if node.target in _REDUCTIONS:
            return bool(get_arg(node, "keepdim")) and get_arg(node, "dim") is not None
        tags = getattr(getattr(node.target, "_op", None), "tags", ())
        return node.target in self._permutable_ops or torch.Tag.pointwise in tags or _unit_dim(node) is not None

    def get_permutation(self, permute_node: Node) -> list[int] | None:
        """Permutation of a permute node, with positive dimensions; None if the dimensions do not form a permutation."""
        dims = permutation_of(permute_node)
        return dims if dims is not None and sorted(dims) == list(range(len(dims))) else None

    def _grow(self, region: _Region, start: Node, dims: list[int]) -> None:
        """Add a node whose operands are permuted by `dims`, and all nodes connected to it. Raises _Blocked."""
        waiting = [(start, dims)]
        while waiting:
            node, dims = waiting.pop()
            if node in region.inputs:
                if region.inputs[node] != dims:
                    raise _Blocked
                continue
            if not self.is_node_permutable(node):
                raise _Blocked
            region.inputs[node] = dims
            region.outputs[node] = result = _through(node, dims)
            for user in node.users:
                if user.target is _permute and self.get_permutation(user) == inverse_permutation(result):
                    region.leaving.append((node, user))
                elif user.op == "output" or user.target is _permute:
                    raise _Blocked
                else:
                    waiting.append((user, result))
            for source in node.all_input_nodes:
                if source.target is _permute:
                    if self.get_permutation(source) != dims:
                        raise _Blocked
                    region.entering.append((source, node))
                elif _is_constant(source):
                    if source.meta.get("val") is None or source.meta["val"].dim() > len(dims):
                        raise _Blocked
                    region.constants.append((source, node))
                elif source in region.outputs:
                    if region.outputs[source] != dims:
                        raise _Blocked
                elif self.is_node_permutable(source):
                    waiting.append((source, _before(source, dims)))
                else:
                    raise _Blocked


def _is_constant(node: Node) -> bool:
    by_name = node.op == "placeholder" and str(node.target).startswith(_CONSTANT_PREFIXES)
    return by_name or node.op == "get_attr" or node.target is _aten.full.default


def _unit_dim(node: Node) -> tuple[bool, int] | None:
    """(adds, position) of a node that adds or removes one dimension of size 1; None for other nodes."""
    if node.target not in (*VIEWS, _UNSQUEEZE, _SQUEEZE):
        return None
    source: Any = node.args[0]
    before, after = list(source.meta["val"].shape), list(node.meta["val"].shape)
    if node.target in (_UNSQUEEZE, _SQUEEZE):
        adds = node.target is _UNSQUEEZE
        if len(after) - len(before) != (1 if adds else -1):
            return None
        return adds, get_arg(node, "dim") % max(len(before), len(after))
    added, removed = extra_unit_dim(after, before), extra_unit_dim(before, after)
    if added is not None:
        return True, added
    return None if removed is None else (False, removed)


def _inserted(dims: list[int], position: int) -> list[int]:
    """`dims` with a new dimension at the same position before and after the permutation."""
    moved = [dim + (dim >= position) for dim in dims]
    return [*moved[:position], position, *moved[position:]]


def _removed(dims: list[int], position: int) -> list[int]:
    gone = dims[position]
    return [dim - (dim > gone) for dim in dims if dim != gone]


def _through(node: Node, dims: list[int]) -> list[int]:
    """Permutation of a node's result, given that of its operands. Raises _Blocked for an unexpected rank."""
    if any(isinstance(source, Node) and _rank(source) > len(dims) for source in node.all_input_nodes):
        raise _Blocked
    unit_dim = _unit_dim(node)
    if unit_dim is not None:
        if _rank(node.args[0]) != len(dims):
            raise _Blocked
        adds, position = unit_dim
        return _inserted(dims, position) if adds else _removed(dims, position)
    if _rank(node) != len(dims):
        raise _Blocked
    return dims


def _before(node: Node, dims: list[int]) -> list[int]:
    """Permutation of a node's operands, given that of its result. Raises _Blocked for an unexpected rank."""
    if _rank(node) != len(dims):
        raise _Blocked
    unit_dim = _unit_dim(node)
    if unit_dim is None:
        return dims
    adds, position = unit_dim
    before = _removed(dims, position) if adds else _inserted(dims, position)
    if adds and dims[position] != position:
        raise _Blocked
    return before


def _rank(node: Any) -> int:
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        raise _Blocked
    return value.dim()


def _rewrite(region: _Region) -> None:
    for node, dims in region.inputs.items():
        _rename_dims(node, dims, region.outputs[node])
    for permute, reader in region.entering:
        reader.replace_input_with(permute, get_arg(permute, "input" if "input" in permute.kwargs else "self"))
    for constant, reader in region.constants:
        undone = _unpermuted_constant(constant, reader, inverse_permutation(region.inputs[reader]))
        reader.replace_input_with(constant, undone)
    for node, permute in region.leaving:
        permute.replace_all_uses_with(node)


def _rename_dims(node: Node, dims: list[int], result: list[int]) -> None:
    """Rewrite the arguments of a node that name dimensions or sizes."""
    if node.target in _REDUCTIONS:
        set_arg(node, "dim", [dims[dim] for dim in get_arg(node, "dim")])
    elif node.target in _ALONG_ONE_DIM or node.target is _SQUEEZE:
        set_arg(node, "dim", dims[get_arg(node, "dim")])
    elif node.target is _UNSQUEEZE:
        set_arg(node, "dim", result[get_arg(node, "dim")])
    elif node.target in VIEWS:
        sizes = node.meta["val"].shape
        set_arg(node, "size", [sizes[position] for position in inverse_permutation(result)])


def _unpermuted_constant(constant: Node, reader: Node, dims: list[int]) -> Node:
    """A constant permuted for a reader whose other operands are no longer permuted."""
    value = constant.meta["val"]
    padded = [1] * (len(dims) - value.dim()) + list(value.shape)
    if value.dim() == 0 or all(size == 1 for size in padded):
        return constant
    reshaped = constant
    with constant.graph.inserting_before(reader):
        if value.dim() < len(dims):
            reshaped = _derived(constant, reshaped, _aten.view_copy.default, padded, value.reshape(padded))
        return _derived(constant, reshaped, _permute, dims, value.reshape(padded).permute(dims))


def _derived(constant: Node, source: Node, target: Any, argument: list[Any], value: torch.Tensor) -> Node:
    node = constant.graph.call_function(target, (source, argument))
    node.meta = {**origin_of(constant), "val": value}
    return node
