# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Find the dtypes and dim orders of a kernel by calling it with all of them on the shapes of one example."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from oracle.kernels.argument_kinds import DTYPE_CODES
from oracle.kernels.dense_memory import dense
from oracle.kernels.kernel_entry import call_kernel, schema_of
from oracle.tolerances import SUPPORTED
from torch.utils import _pytree as pytree

DTYPES = tuple(DTYPE_CODES)
MANY = 4
# Dtypes that programs may have even if eager does not compute them (some matrix operators lack 16-bit dtypes).
TRACED = (
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
)
# Pairs of dtypes that distinguish promotion from a cast to one operand's dtype.
PAIRS = ((torch.float32, torch.int64), (torch.float16, torch.float32), (torch.int32, torch.int64))

# Errors of eager for invalid arguments.
_REFUSED = (RuntimeError, NotImplementedError, IndexError, ValueError, TypeError, AssertionError)

Dtypes = tuple[torch.dtype, ...]


@dataclass(frozen=True)
class Example:
    """One call: the functional operator (or one that writes in place) and arguments that it accepts."""

    op: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)


def _tensors_in(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def _in_order(example: Example) -> list[Any]:
    """Values of the operator's arguments, defaults filled in."""
    given = dict(zip((a.name for a in example.op._schema.arguments), example.args, strict=False)) | example.kwargs
    return [given.get(a.name, a.default_value) for a in example.op._schema.arguments]


def worth(example: Example) -> tuple[int, bool]:
    """Return a sort key of examples. More tensors are better, and rank 0 is worse: it has less weight in promotion."""
    given = [tensors for value in _in_order(example) if (tensors := _tensors_in(value))]
    return len(given), all(t.dim() > 0 for tensors in given for t in tensors)


def is_usable(example: Example) -> bool:
    """Return whether the example is small and all of its tensors have elements."""
    tensors = _tensors_in([example.args, example.kwargs])
    return all(0 < t.numel() <= 4096 and t.layout is torch.strided and not t.is_complex() for t in tensors)


class KernelProbe:
    """Calls one kernel with the example's arguments in other dtypes."""

    def __init__(self, name: str, example: Example) -> None:
        self.name, self.op, self.schema = name, example.op, schema_of(name)
        self.values = _in_order(example)
        self.names = [a.name for a in example.op._schema.arguments]
        self.kernel_arguments = [a.name for a in self.schema.arguments if not a.is_out]
        kinds = [str(a.type) for a in example.op._schema.arguments]
        self.positions = [i for i, kind in enumerate(kinds) if "Tensor" in kind]
        self.given = [i for i in self.positions if _tensors_in(self.values[i])]
        self.base = tuple(_tensors_in(self.values[i])[0].dtype for i in self.given)
        self.returns_lists = any("List[" in str(a.real_type) for a in self.schema.arguments if a.is_out)
        self.tried: dict[tuple[Dtypes, torch.dtype | None], set[Dtypes]] = {}
        self.numbers = [
            i
            for i, a in enumerate(example.op._schema.arguments)
            if "number" in str(a.type) and isinstance(self.values[i], (int, float))
        ]
        self.in_place = not any(a.is_out for a in self.schema.arguments)
        self.promoted = self._promoted()

    def _arguments(self, dtypes: Dtypes, convert: Callable[[torch.Tensor], torch.Tensor] = dense) -> list[Any]:
        values = list(self.values)
        for position, dtype in zip(self.given, dtypes, strict=True):
            values[position] = pytree.tree_map_only(
                torch.Tensor, lambda t, dtype=dtype: convert(_converted(t, dtype)), values[position]
            )
        return values

    def eager(self, values: list[Any]) -> Any:
        op_args = {a.name: v for a, v in zip(self.op._schema.arguments, values, strict=True)}
        positional = [op_args[a.name] for a in self.op._schema.arguments if not a.kwarg_only]
        keywords = {a.name: op_args[a.name] for a in self.op._schema.arguments if a.kwarg_only}
        return self.op(*positional, **keywords)

    def takes(self, dtypes: Dtypes, into: torch.dtype | None = None) -> set[Dtypes]:
        """Return the output dtypes with which the kernel accepts arguments of these dtypes; empty if it refuses them.

        into: the value of the operator's argument `dtype`. Scalars are tried as integers and as floats.
        """
        if (dtypes, into) not in self.tried:
            values = self._arguments(dtypes)
            if into is not None:
                values[self.names.index("dtype")] = into
            traced = len(set(dtypes)) == 1 and dtypes[0] in TRACED
            found = [self._call(variant, traced) for variant in self._with_numbers(values)]
            self.tried[dtypes, into] = {outputs for outputs in found if outputs is not None}
        return self.tried[dtypes, into]

    def _with_numbers(self, values: list[Any]) -> Iterator[list[Any]]:
        for kind in (int, float) if self.numbers else (int,):
            yield [kind(min(max(v, -7), 7)) if i in self.numbers else v for i, v in enumerate(values)]

    def _call(self, values: list[Any], traced: bool = False, compared: bool = False) -> Dtypes | None:
        """Return the output dtypes of a call, None if it is refused.

        traced: accept calls that eager refuses but torch.export can trace. compared: also require eager's values.
        """
        eager_values = [v.clone() if isinstance(v, torch.Tensor) else v for v in values]
        try:
            try:
                result = self.eager(eager_values)
            except _REFUSED:
                if not traced:
                    return None
                result = self.eager(pytree.tree_map_only(torch.Tensor, lambda t: t.to("meta"), values))
        except _REFUSED:
            return None  # a program cannot contain such a call
        results = [] if self.in_place else list(result) if isinstance(result, (list, tuple)) else [result]
        if any(t.dtype not in DTYPE_CODES for t in _tensors_in(results)):
            return None
        room = [torch.zeros_like(dense(t), device="cpu") for t in _tensors_in(results)]
        given = [v for v, name in zip(values, self.names, strict=True) if name in self.kernel_arguments]
        call = call_kernel(self.name, *given, out=[room] if self.returns_lists else room, schema=self.schema)
        if call.error != 0:
            return None
        if compared and not all(
            torch.allclose(found, expected, **SUPPORTED, equal_nan=True)
            for found, expected in zip(_tensors_in(call.outputs), _tensors_in(results), strict=True)
        ):
            return None
        return (room[0].dtype,) if self.returns_lists else tuple(t.dtype for t in room)

    def row(self, of_given: str) -> str:
        """Extend a row for the example's tensor arguments to all tensor arguments: `?` for those it lacks."""
        words, rest = of_given.split("->")
        given = iter(words.split())
        all_words = [next(given) if i in self.given else "?" for i in self.positions]
        return f"{' '.join(all_words)} ->{rest}".strip()

    def combinations(self, promotes: Sequence[str]) -> set[Dtypes]:
        """Return all accepted combinations (arguments…, outputs…). Arguments in `promotes` have one dtype in each."""
        chosen = (None, *DTYPES) if "dtype" in self.names else (None,)
        for dtypes, into in itertools.product(self._alike(), chosen):
            self.takes(dtypes, into)
        for dtypes in self._of_two_dtypes():
            for into in chosen:
                self.takes(dtypes, into)
        promoted = [self.names[i] in promotes for i in self.given]
        return {
            (*dtypes, *outputs)
            for (dtypes, _), found in self.tried.items()
            for outputs in found
            if len({d for d, one in zip(dtypes, promoted, strict=True) if one}) < 2
        }

    def _alike(self) -> Iterator[Dtypes]:
        """Yield dtypes of the arguments: one for all; then one for some, and the example's for the others."""
        yield from ((dtype,) * len(self.given) for dtype in DTYPES)
        for changed in itertools.product((False, True), repeat=len(self.given)):
            for dtype in DTYPES:
                yield self._with(changed, dtype)

    def _with(self, changed: Sequence[bool], dtype: torch.dtype, base: Dtypes | None = None) -> Dtypes:
        return tuple(dtype if c else b for c, b in zip(changed, base or self.base, strict=True))

    def _of_two_dtypes(self) -> Iterator[Dtypes]:
        """Yield dtypes of the arguments: one for some, another for others, the example's for the rest.

        The kernel must accept each of the two dtypes without the other. From MANY arguments on, none keeps the
        example's dtype, to limit the number of combinations.
        """
        choices = (0, 1, 2) if len(self.given) < MANY else (1, 2)
        for kinds in itertools.product(choices, repeat=len(self.given)):
            if not {1, 2} <= set(kinds) or kinds.index(2) < kinds.index(1):
                continue
            first, second = [kind == 1 for kind in kinds], [kind == 2 for kind in kinds]
            ones = [d for d in DTYPES if self.takes(self._with(first, d))]
            others = [d for d in DTYPES if self.takes(self._with(second, d))]
            for one, other in itertools.product(ones, others):
                yield self._with(second, other, self._with(first, one))

    def _promoted(self) -> list[str]:
        """Return the names of the arguments whose dtypes may differ and are promoted to a common one."""
        positions = range(len(self.given))
        for size in range(len(self.given), 0, -1):
            for group in itertools.combinations(positions, size):
                lists = [i for i in group if len(_tensors_in(self.values[self.given[i]])) > 1]
                if (size > 1 or lists) and self._promotes_together(group):
                    return [self.names[self.given[i]] for i in group]
        return []

    def _promotes_together(self, group: Sequence[int]) -> bool:
        """Return whether eager gives equal results for mixed and promoted dtypes, for one of PAIRS in both orders."""
        both = False
        for pair in PAIRS:
            agreed = 0
            for one, other in (pair, pair[::-1]):
                mixed = self._mixed(group, [one, other])
                promoted = self._in_one_dtype(group, mixed, torch.promote_types(one, other))
                try:
                    found, expected = self.eager(mixed), self.eager(promoted)
                except _REFUSED:
                    continue
                same = all(
                    f.dtype is e.dtype and torch.allclose(f.double(), e.double(), equal_nan=True)
                    for f, e in zip(_tensors_in(found), _tensors_in(expected), strict=True)
                )
                if not same:
                    return False
                agreed += 1
            both = both or agreed == 2
        return both

    def _mixed(self, group: Sequence[int], dtypes: list[torch.dtype]) -> list[Any]:
        values, turn = self._arguments(self.base), itertools.cycle(dtypes)
        for index in group:
            position = self.given[index]
            values[position] = pytree.tree_map_only(
                torch.Tensor, lambda t: _converted(t, next(turn)), self.values[position]
            )
        return values

    def _in_one_dtype(self, group: Sequence[int], values: list[Any], dtype: torch.dtype) -> list[Any]:
        changed = {self.given[index] for index in group}
        return [
            pytree.tree_map_only(torch.Tensor, lambda t: t.to(dtype), v) if i in changed else v
            for i, v in enumerate(values)
        ]

    def takes_any_layout(self) -> bool:
        """Return whether channels-last arguments (all of them, and the first alone) give eager's result."""
        for only_first in (False, True):
            seen = itertools.count()

            def convert(t: torch.Tensor, only_first: bool = only_first, seen: Any = seen) -> torch.Tensor:
                last = t.dim() in (4, 5) and (not only_first or next(seen) == 0)
                formats = {4: torch.channels_last, 5: torch.channels_last_3d}
                return t.to(memory_format=formats[t.dim()]) if last else dense(t)

            values = self._arguments(self.base, convert)
            if any(not t.is_contiguous() for t in _tensors_in(values)) and self._call(values, compared=True) is None:
                return False
        return True


def _converted(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return the tensor in another dtype. Values become numbers that every dtype represents, and not zero, because
    operators may divide by them. Indices and masks keep their values."""
    if tensor.is_floating_point():
        tensor = tensor.detach().nan_to_num(1.0).abs().clamp(1, 3)
    return tensor.detach().to(dtype)
