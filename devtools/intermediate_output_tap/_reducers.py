# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Reducers: functions that turn a tapped tensor into the output, either the whole tensor or statistics."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode

from executorch.exir.dialects import dim_order_ops  # noqa: F401  (registers the operators)
from executorch.exir.dialects._ops import ops
from executorch.exir.rewrite.node_rewrite import with_values

_aten: Any = ops.edge.aten
EmitFn = Callable[[fx.Graph, fx.Node], fx.Node]
EagerFn = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class StatReducer:
    """A function of a tapped tensor.

    fields: names of the returned numbers, a tensor of rank 1; empty for a tensor of other sizes.
    emit: adds edge operators that apply it to a node, at the graph's insertion point; returns the last one.
    eager: applies it to a tensor.
    """

    name: str
    fields: tuple[str, ...]
    emit: EmitFn
    eager: EagerFn


class _Statistics:
    """The statistics of `STATS`. `call` either runs an operator on tensors or adds a node to a graph. `value`: the
    tensor, or the fake tensor of the node; not empty.
    """

    def __init__(self, call: Callable[..., Any], source: Any, value: torch.Tensor) -> None:
        self._call = call
        self._values = source if value.dtype is torch.float32 else _in_float32(call, source, value)
        self._absolute = call(_aten.abs.default, self._values)
        self._squares = call(_aten.pow.Tensor_Scalar, self._values, 2.0)
        self._count = value.numel()

    def all(self) -> Any:
        """All statistics in the order of the fields."""
        call, values, absolute = self._call, self._values, self._absolute
        mean, mean_square = call(_aten.mean.default, values), call(_aten.mean.default, self._squares)
        # Rounding may make the difference slightly negative.
        variance = call(
            _aten.abs.default, call(_aten.sub.Tensor, mean_square, call(_aten.pow.Tensor_Scalar, mean, 2.0))
        )
        statistics = {
            "min": call(_aten.amin.default, values),
            "max": call(_aten.amax.default, values),
            "mean": mean,
            "abs_max": call(_aten.amax.default, absolute),
            "abs_mean": call(_aten.mean.default, absolute),
            "std": call(_aten.sqrt.default, variance),
            "rms": call(_aten.sqrt.default, mean_square),
            "l1_norm": self._sum(absolute),
            "l2_norm": call(_aten.sqrt.default, self._sum(self._squares)),
            "nan_count": self._number_of(call(_aten.isnan.default, values)),
            "inf_count": self._number_of(call(_aten.isinf.default, values)),
            "zero_count": self._number_of(call(_aten.eq.Scalar, values, 0.0)),
            "p99_abs": self._percentile_99(),
        }
        # Use `cat` of one-element tensors: not all kernel libraries have `stack`.
        return call(_aten.cat.default, [call(_aten.view_copy.default, statistics[name], [1]) for name in _FIELDS], 0)

    def _sum(self, values: Any) -> Any:
        return self._call(_aten.sum.dim_IntList, values, [])

    def _number_of(self, mask: Any) -> Any:
        return self._call(_aten.sum.dim_IntList, mask, [], dtype=torch.float32)

    def _percentile_99(self) -> Any:
        """Smallest of the largest 1 % of the elements, at least one element."""
        largest = (self._count + 99) // 100
        flat = self._call(_aten.view_copy.default, self._absolute, [-1])
        top = self._call(operator.getitem, self._call(_aten.topk.default, flat, largest), 0)
        return self._call(_aten.select_copy.int, top, 0, largest - 1)


def _in_float32(call: Callable[..., Any], source: Any, value: torch.Tensor) -> Any:
    copy: Any = ops.edge.dim_order_ops._to_dim_order_copy.default
    return call(copy, source, dtype=torch.float32, dim_order=list(value.dim_order()))


_FIELDS = (
    "min",
    "max",
    "mean",
    "abs_max",
    "abs_mean",
    "std",
    "rms",
    "l1_norm",
    "l2_norm",
    "nan_count",
    "inf_count",
    "zero_count",
    "p99_abs",
)


def _eager_statistics(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.numel() == 0:
        return torch.full((len(_FIELDS),), float("nan"))
    statistics: torch.Tensor = _Statistics(
        lambda target, *args, **kwargs: target(*args, **kwargs), tensor, tensor
    ).all()
    return statistics


def _emit_statistics(graph: fx.Graph, source: fx.Node) -> fx.Node:
    value: Any = source.meta.get("val")
    count = value.numel() if isinstance(value, torch.Tensor) else None
    if not isinstance(count, int) or count == 0:
        raise ValueError(
            f"STATS of node '{source.name}': expected a nonempty tensor of static sizes, "
            f"found {value}; use FULL_TENSOR or exclude the node"
        )

    def call(target: Any, *args: Any, **kwargs: Any) -> fx.Node:
        node = graph.call_function(target, args, kwargs)
        with _mode(value):
            node.meta["val"] = target(*with_values(args), **kwargs)
        return node

    return _Statistics(call, source, value).all()  # type: ignore[no-any-return]


def _mode(value: Any) -> FakeTensorMode:
    mode: FakeTensorMode = value.fake_mode
    return mode


FULL_TENSOR = StatReducer("FULL_TENSOR", (), lambda _, source: source, lambda tensor: tensor.detach())
STATS = StatReducer("STATS", _FIELDS, _emit_statistics, lambda tensor: _eager_statistics(tensor.detach()))

_BY_NAME = {reducer.name: reducer for reducer in (FULL_TENSOR, STATS)}
_BUILT_IN = frozenset(_BY_NAME)


def get_reducer(name_or_reducer: str | StatReducer) -> StatReducer:
    """Look up a reducer by name, or register the given reducer under its name. Raises ValueError for an unknown name,
    and for a custom reducer with the name of a built-in one.
    """
    if isinstance(name_or_reducer, StatReducer):
        name = name_or_reducer.name
        if name in _BUILT_IN and name_or_reducer is not _BY_NAME[name]:
            raise ValueError(f"reducer {name!r}: the name is reserved for a built-in reducer")
        _BY_NAME[name] = name_or_reducer  # a tap refers to its reducer by name
        return name_or_reducer
    if name_or_reducer not in _BY_NAME:
        raise ValueError(f"Unknown reducer {name_or_reducer!r}: expected one of {sorted(_BY_NAME)}")
    return _BY_NAME[name_or_reducer]
