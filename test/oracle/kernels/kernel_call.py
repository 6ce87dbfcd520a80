# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""One call of a kernel beside what eager did: its arguments and results, and how the two are compared."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from oracle.kernels.comparison import is_determined, mismatch
from oracle.kernels.dense_memory import dense
from oracle.kernels.kernel_entry import call_kernel

# Results that may list equal elements in any order: their indices must point to elements equal to the values.
ORDERED = frozenset(
    f"aten::{name}values" for name in ("topk.", "sort.", "kthvalue.", "mode.", "median.dim_", "nanmedian.dim_")
)


@dataclass(frozen=True)
class EagerCall:
    """A call of a kernel, and the result of the same call in eager.

    ``arguments``: of the kernel, in its order, without outputs, as they were before the call. ``results``: eager's, one
    for each output; None where eager refused. ``mutated``: position → value after the call of a written argument."""

    name: str
    schema: torch.FunctionSchema
    arguments: list[Any]
    results: list[Any] | None
    mutated: dict[int, torch.Tensor] | None = None

    @staticmethod
    def of(name: str, schema: torch.FunctionSchema, before: list[Any], after: Sequence[Any], result: Any) -> EagerCall:
        """Return the record of a call that eager made. ``before`` and ``after``: its arguments then."""
        outputs = [a for a in schema.arguments if a.is_out]
        lists = any("List[" in str(a.real_type) for a in outputs)
        results = list(result) if isinstance(result, (list, tuple)) and not lists else [result]
        written = [i for i, a in enumerate(schema.arguments) if a.alias_info and a.alias_info.is_write and not a.is_out]
        return EagerCall(name, schema, before, results[: len(outputs)], {i: after[i].clone() for i in written})

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(_describe, self.arguments))})"

    def fresh_arguments(self) -> list[Any]:
        """The arguments, with copies of the written ones."""
        return [a.clone() if i in (self.mutated or {}) else a for i, a in enumerate(self.arguments)]


def _describe(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        order = "" if value.is_contiguous() else f" strides {value.stride()}"
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}{order}"
    return f"[{', '.join(map(_describe, value))}]" if isinstance(value, (list, tuple)) else repr(value)


def room_for(result: Any) -> Any:
    """Memory for a result, in its dim order, filled with values that a kernel would not write by chance."""
    if isinstance(result, torch.Tensor):
        return torch.full_like(dense(result), 77 if result.dtype is not torch.bool else True)
    return [room_for(r) for r in result]


def _picked(call: EagerCall, indices: torch.Tensor) -> torch.Tensor:
    """The elements of an ordered call's argument that its indices point to."""
    dim = call.arguments[[a.name for a in call.schema.arguments].index("dim")]
    values = call.arguments[0]
    if values.dim() == 0:
        return values
    if indices.dim() < values.dim():
        return values.gather(dim, indices.unsqueeze(dim)).squeeze(dim)
    return values.gather(dim, indices)


def compare(call: EagerCall) -> str:
    """Empty where the kernel gives what eager gave, else where and how not."""
    assert call.results is not None
    arguments = call.fresh_arguments()
    ran = call_kernel(call.name, *arguments, out=[room_for(r) for r in call.results], schema=call.schema)
    if ran.error != 0:
        return f"{call}: error {ran.error}: {ran.message.strip()}"
    found, expected = ran.outputs, call.results
    if call.name == "aten::unique_consecutive.out":
        # Eager leaves arbitrary values in outputs that were not requested (inverse indices, counts).
        is_wanted = [True, *call.arguments[1:3]]
        found, expected = list(itertools.compress(found, is_wanted)), list(itertools.compress(expected, is_wanted))
    elif call.name in ORDERED or (call.name == "aten::sort.values_stable" and not call.arguments[1]):
        found, expected = [found[0], _picked(call, found[1])], [expected[0]] * 2
    elif not is_determined(call.name):
        found, expected = [torch.zeros_like(o) for o in found], [torch.zeros_like(r) for r in expected]
    written = call.mutated or {}
    fault = mismatch(call.name, [*found, *(arguments[i] for i in written)], [*expected, *written.values()])
    return f"{call}: {fault}" if fault else ""


# Operators whose float32 result is less accurate in eager than in the kernel. trigamma near its poles at -1, -2, …:
# relative errors of up to 2 % in eager and 6e-8 in the kernel, against mpmath on 4,000 numbers from -9 to 9.
COARSE_IN_EAGER = frozenset({"aten::polygamma.out"})
_SMALL = (torch.float16, torch.bfloat16)


def computed_wider(call: EagerCall, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> EagerCall | None:
    """The call with what eager gives when 16-bit floats are computed in float32 and rounded at last, if there are any.

    Eager rounds some intermediates to 16 bits (the sums of a transposed convolution, a quotient before it is truncated,
    where in an image a sample lies); kernels need not. For kernels in COARSE_IN_EAGER, computed in float64.
    """
    coarse = call.name in COARSE_IN_EAGER
    if call.mutated or call.results is None or not (coarse or _has_16_bits([*args, *call.results])):
        return None
    result = func(*_as_dtype(args, torch.float64 if coarse else torch.float32, every=coarse), **kwargs)
    results = list(result) if isinstance(result, (list, tuple)) and len(call.results) > 1 else [result]
    return replace(call, results=[_as(r, like) for r, like in zip(results, call.results, strict=False)])


def _has_16_bits(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return value.dtype in _SMALL
    return isinstance(value, (list, tuple)) and any(map(_has_16_bits, value))


def _as_dtype(value: Any, dtype: torch.dtype, every: bool) -> Any:
    """Tensors in it in another dtype: every one, or those of 16-bit floats."""
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if every or value.dtype in _SMALL else value
    return [_as_dtype(v, dtype, every) for v in value] if isinstance(value, (list, tuple)) else value


def _as(result: Any, like: Any) -> Any:
    if isinstance(like, torch.Tensor):
        return torch.empty_like(like).copy_(result)
    return [_as(r, of) for r, of in zip(result, like, strict=True)]


def guessed_outputs(call: EagerCall) -> list[list[Any]]:
    """Return outputs to try where eager refused: one like each tensor argument, and a scalar."""
    flat = [v for a in call.arguments for v in (a if isinstance(a, list) else [a]) if isinstance(v, torch.Tensor)]
    count = sum(a.is_out for a in call.schema.arguments)
    lists = [("List[" in str(a.real_type)) for a in call.schema.arguments if a.is_out]
    tried = []
    for like in [*flat[:3], torch.zeros(()), torch.zeros(8, 8)]:
        made = [room_for(like) for _ in range(count)]
        tried.append([[m] if listed else m for m, listed in zip(made, lists, strict=True)])
    return tried


def kernel_refuses(call: EagerCall) -> str:
    """Empty where the kernel refuses the call with a message, whatever output it is given."""
    for outputs in guessed_outputs(call):
        ran = call_kernel(call.name, *call.fresh_arguments(), out=outputs, schema=call.schema)
        if ran.error == 0:
            return f"{call}: accepted into {_describe(outputs)}, eager refuses"
        if not ran.message.strip():
            return f"{call}: refused without a message"
    return ""
