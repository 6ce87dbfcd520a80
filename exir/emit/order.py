# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Derive the order of a method's tasks for concurrent execution from the memory effects of its instructions.

A task is the instructions of one node of the method's graph: usually one, for control flow all of its subgraphs. If
two tasks access the same value and one of them writes it, they run in the program's order.
This module also checks the memory plan, without sharing code with the planner: bytes shared by two tensors must not
order tasks that are independent otherwise.

Encoding: little-endian words of 32 bits: version, number of tasks, number of pairs; for each task the index after its
last instruction; the pairs (earlier task, later task that waits for it), sorted by the later one.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import torch

from executorch.exir.emit.state import MethodState
from executorch.exir.error import ExportError
from executorch.exir.operator.call_effects import draws_random_numbers
from executorch.exir.operator.convert import is_written_argument
from executorch.exir.scalar_type import element_size
from executorch.exir.schema import (
    DelegateCall,
    FreeCall,
    IntList,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    OptionalTensorList,
    Tensor,
    TensorList,
)
from executorch.exir.tensor import TensorSpec, ViewSpec

KEY_PREFIX = "executorch.order."
"""Prefix of the name of a program's named data with the order of a method's tasks; the method's name follows."""

_VERSION = 1
_VIEW = ("executorch_prim::et_view", "default")
# (value, whether it is written, whether its data are accessed and not only the value itself)
_Effect = tuple[int, bool, bool]


@dataclass(frozen=True)
class Order:
    """ends[t]: the index after task t's last instruction. pairs: (earlier, later), without implied ones."""

    ends: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]


def encode_order(order: Order) -> bytes:
    """Return the words of an order, in the encoding above."""
    words = [_VERSION, len(order.ends), len(order.pairs), *order.ends]
    words += [task for pair in order.pairs for task in pair]
    return struct.pack(f"<{len(words)}I", *words)


def find_order(state: MethodState, method: str) -> Order:
    """Return the order of tasks. Raises ExportError if the memory plan orders independent tasks."""
    resources = _Resources(state)
    starts = [0, *state.task_ends[:-1]]
    tasks = [
        [effect for i in range(start, end) for effect in _effects(state, i)]
        for start, end in zip(starts, state.task_ends, strict=True)
    ]
    before: list[int] = []
    pairs: list[tuple[int, int]] = []
    last_write: dict[Hashable, int] = {}
    reads_since: dict[Hashable, int] = {}
    for task, effects in enumerate(tasks):
        keys: dict[Hashable, bool] = {}
        for touch in effects:
            for key in resources.keys(*touch):
                keys[key] = keys.get(key, False) or touch[1]
        waits_for = 0
        for key, is_written in keys.items():
            waits_for |= last_write.get(key, 0) | (reads_since.get(key, 0) if is_written else 0)
        done = 1 << task
        while waits_for:
            latest = waits_for.bit_length() - 1
            pairs.append((latest, task))
            done |= before[latest]
            waits_for &= ~before[latest]
        before.append(done)
        for key, is_written in keys.items():
            last_write |= {key: 1 << task} if is_written else {}
            reads_since[key] = 0 if is_written else reads_since.get(key, 0) | 1 << task
    _check_plan(state, method, tasks, before)
    return Order(tuple(state.task_ends), tuple(sorted(pairs, key=lambda pair: (pair[1], pair[0]))))


class _Resources:
    """Maps values to the resources they denote: the value, and the data of a tensor, which its views share."""

    def __init__(self, state: MethodState) -> None:
        self.base: dict[int, int] = {}
        first: dict[TensorSpec, int] = {}
        for spec, ref in state.spec_values.items():
            base_spec = spec.base if isinstance(spec, ViewSpec) else spec
            self.base[ref.id] = first.setdefault(base_spec, ref.id)

    def keys(self, value: int, is_written: bool, with_data: bool) -> list[Hashable]:
        return [("value", value), ("data", self.base.get(value, value))] if with_data else [("value", value)]


def _effects(state: MethodState, index: int) -> Iterator[_Effect]:
    call = state.instructions[index].instr_args
    if isinstance(call, KernelCall):
        operator = state.operators[call.op_index]
        name = (operator.name, operator.overload)
        if name == _VIEW:
            yield call.args[0], False, False
            yield call.args[-1], True, False
            return
        written = _written(*name)
        if _is_random(*name):
            yield -1, True, False  # random numbers are drawn in the program's order
        for position, value in enumerate(call.args):
            is_written = position in written if written else position == len(call.args) - 1
            yield from _items(state, value, is_written)
    elif isinstance(call, DelegateCall):
        inputs = len(call.args) - state.output_counts[index]
        for position, value in enumerate(call.args):
            yield from _items(state, value, position >= inputs)
    elif isinstance(call, MoveCall):
        yield call.move_from, False, True
        yield call.move_to, True, True
    elif isinstance(call, JumpFalseCall):
        yield call.cond_value_index, False, True
    elif isinstance(call, FreeCall):
        yield call.value_index, True, True


def _items(state: MethodState, value: int, is_written: bool) -> Iterator[_Effect]:
    """Yield the effects on a value and the items of a list. Reading a list writes its memory."""
    list_value = state.values[value].val
    if isinstance(list_value, (TensorList, OptionalTensorList, IntList)):
        yield value, True, False
        for item in list_value.items:
            if item >= 0:
                yield item, is_written, True
    else:
        yield value, is_written, True


@cache
def _written(name: str, overload: str) -> frozenset[int]:
    """Return the positions of an operator's written arguments; empty for an operator without a schema."""
    schema = _schema(name, overload)
    if schema is None:
        return frozenset()
    return frozenset(i for i, entry in enumerate(schema.arguments) if is_written_argument(entry))


@cache
def _is_random(name: str, overload: str) -> bool:
    op = _overload(name, overload)
    return draws_random_numbers(op)


def _schema(name: str, overload: str) -> torch._C.FunctionSchema | None:
    op = _overload(name, overload)
    return None if op is None else op._schema


def _overload(name: str, overload: str) -> torch._ops.OpOverload | None:
    namespace, _, short = name.partition("::")
    packet = getattr(getattr(torch.ops, namespace), short, None)
    op = getattr(packet, overload or "default", None)
    return op if isinstance(op, torch._ops.OpOverload) else None


def _check_plan(state: MethodState, method: str, tasks: Sequence[Sequence[_Effect]], before: Sequence[int]) -> None:
    """Check that all tasks with a common byte, one of them writing it, are ordered independently of the plan."""
    rows: list[tuple[int, int, int, int, bool, int]] = []
    for task, effects in enumerate(tasks):
        for value, is_written, with_data in effects:
            place = _place(state, value) if with_data else None
            if place is not None:
                rows.append((*place, task, is_written, value))
    rows.sort()
    for i, (arena, _, end, task, is_written, value) in enumerate(rows):
        for other in rows[i + 1 :]:
            if other[0] != arena or other[1] >= end:
                break
            early, late = sorted((task, other[3]))
            if (is_written or other[4]) and not before[late] >> early & 1:
                raise ExportError(
                    "emit",
                    f"method {method!r}",
                    f"values {value} and {other[5]} share bytes of arena {arena}, but tasks {early} and {late}, which "
                    "access them, may run at the same time: MemoryPlanningPass(concurrent=True) needs an algorithm "
                    "that keeps such values apart",
                )


def _place(state: MethodState, value: int) -> tuple[int, int, int] | None:
    """Return (arena, first byte, end) of a planned tensor, None for any other value."""
    tensor = state.values[value].val if value >= 0 else None
    if not isinstance(tensor, Tensor) or tensor.allocation_info is None:
        return None
    start = tensor.allocation_info.memory_offset
    size = element_size(tensor.scalar_type) * math.prod(tensor.sizes)
    return (tensor.allocation_info.memory_id, start, start + size) if size else None
