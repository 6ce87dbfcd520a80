# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Check the dtypes of an operator call against the operator table (operator_table.py)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

import torch
from torch import fx
from torch._ops import OpOverload

from executorch.exir.dialects.operator_table import CallDtypes, Operator, edge_operators
from executorch.exir.error import Rejection
from executorch.exir.operator.convert import find_out_variant

# Dtypes that a program can store; legal for operators without dtypes in the table.
STORABLE = frozenset(
    {
        *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
        *(torch.uint16, torch.uint32, torch.uint64, torch.float16, torch.bfloat16, torch.float32, torch.float64),
        *(torch.complex64, torch.complex128),
        *(torch.float8_e5m2, torch.float8_e4m3fn, torch.float8_e5m2fnuz, torch.float8_e4m3fnuz),
    }
)


@cache
def operator_of(op: OpOverload) -> Operator | None:
    """Return the table's entry for `op` or its out variant, which computes it at run time."""
    table = edge_operators()
    variant = find_out_variant(op)
    return table.find(op.name()) or (None if variant is None else table.find(variant.name()))


@cache
def tensor_arguments(op: OpOverload) -> tuple[tuple[int, str, bool], ...]:
    """Return (position, name, keyword only) of the tensor arguments that are not `out`."""
    return tuple(
        (index, item.name, item.kwarg_only)
        for index, item in enumerate(op._schema.arguments)
        if "Tensor" in str(item.type) and not item.is_out
    )


def allowed_dtypes(op: OpOverload, position: int) -> frozenset[torch.dtype]:
    """Return the dtypes of one tensor in the calls of an operator. position: of the tensor arguments, then results."""
    operator = operator_of(op)
    if operator is None or operator.rows is None:
        return STORABLE
    return frozenset().union(*(row.dtypes_of(position) or STORABLE for row in operator.rows))


def tensors_in(value: object) -> Iterator[torch.Tensor]:
    """Yield the fake tensors of an argument or result."""
    for item in value if isinstance(value, (list, tuple)) else (value,):
        content = item.meta.get("val") if isinstance(item, fx.Node) else item
        if isinstance(content, torch.Tensor):
            yield content
        elif isinstance(content, (list, tuple)):
            yield from tensors_in(content)


def call_dtypes(node: fx.Node, op: OpOverload) -> tuple[list[str], CallDtypes]:
    """Return names and dtypes of a call's tensor arguments, then of its results (`result`, or `result 0`, …)."""
    names, call = [], []
    for index, name, keyword in tensor_arguments(op):
        value = node.args[index] if not keyword and index < len(node.args) else node.kwargs.get(name)
        names.append(f"argument '{name}'")
        call.append(frozenset(tensor.dtype for tensor in tensors_in(value)))
    if not op._schema.is_mutable or any(item.is_out for item in op._schema.arguments):
        value = node.meta.get("val")
        several = isinstance(value, (list, tuple)) and len(op._schema.returns) > 1
        results: list[object] = list(value) if isinstance(value, (list, tuple)) and several else [value]
        for index, result in enumerate(results):
            names.append(f"result {index}" if several else "result")
            call.append(frozenset(tensor.dtype for tensor in tensors_in(result)))
    return names, tuple(call)


def check_call_of(op: OpOverload, operator: Operator, names: list[str], call: CallDtypes) -> Rejection | None:
    """Reject a call of `op` with dtypes that the operator does not take.

    Each item of a list of optional tensors, which are indices, has a dtype of its own: `x[mask, places]`.
    """
    own = _positions_of_optional_lists(op)
    choices = [
        [frozenset({dtype}) for dtype in sorted(dtypes, key=str)] if position in own and dtypes else [dtypes]
        for position, dtypes in enumerate(call)
    ]
    rejections = (check_call(operator, names, one) for one in itertools.product(*choices))
    return next((rejection for rejection in rejections if rejection is not None), None)


@cache
def _positions_of_optional_lists(op: OpOverload) -> frozenset[int]:
    """Return the positions, among the tensor arguments, of lists whose tensors are optional."""
    types = [str(op._schema.arguments[index].type) for index, _, _ in tensor_arguments(op)]
    return frozenset(position for position, kind in enumerate(types) if kind == "List[Optional[Tensor]]")


@cache
def _check_call(operator: Operator, names: tuple[str, ...], call: CallDtypes) -> Rejection | None:
    misfit = operator.misfit(call)
    if misfit is None:
        return None
    have = _words(call[misfit])
    before = [f"{name} {_words(dtypes)}" for name, dtypes in zip(names[:misfit], call, strict=False) if dtypes]
    taken = ", ".join(str(dtype).removeprefix("torch.") for dtype in operator.taken_at(misfit, call)) or "nothing"
    with_these = f" with {', '.join(before)}" if before else ""
    return Rejection(f"{names[misfit]} has dtype {have}; the operator takes {taken}{with_these}")


def check_call(operator: Operator, names: list[str], call: CallDtypes) -> Rejection | None:
    """Reject dtypes that the operator does not take. The reason names those it takes."""
    return _check_call(operator, tuple(names), call)


def _words(dtypes: Iterable[torch.dtype]) -> str:
    return ", ".join(sorted(str(dtype).removeprefix("torch.") for dtype in dtypes))


def check_dtypes(node: fx.Node) -> Rejection | None:
    """Reject a call of an edge operator with illegal dtypes."""
    op: OpOverload = node.target._op  # type: ignore[union-attr]
    names, call = call_dtypes(node, op)
    operator = operator_of(op)
    if operator is None or operator.rows is None:
        wrong = [(name, dtypes - STORABLE) for name, dtypes in zip(names, call, strict=True) if dtypes - STORABLE]
        if not wrong:
            return None
        return Rejection(f"{wrong[0][0]} has dtype {_words(wrong[0][1])}, which a program cannot hold")
    return _check_promoted(operator, names, call) or check_call_of(op, operator, names, call)


def _check_promoted(operator: Operator, names: list[str], call: CallDtypes) -> Rejection | None:
    wanted = [f"argument '{name}'" for name in operator.promotes]
    together = {name: dtypes for name, dtypes in zip(names, call, strict=True) if name in wanted}
    if len(frozenset().union(*together.values())) < 2:
        return None
    return Rejection(f"arguments must have one dtype, found {_pairs(together)} (PromoteDtypesPass converts them)")


def _pairs(dtypes: Mapping[str, frozenset[torch.dtype]]) -> str:
    return ", ".join(f"{name.removeprefix('argument ')}: {_words(dtypes)}" for name, dtypes in dtypes.items())
