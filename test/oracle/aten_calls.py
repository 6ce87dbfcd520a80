# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Turns any eager computation into kernel tests: every ATen call in it that a kernel serves is repeated there.

with KernelsAgainstEager() as checked:
    torch.nn.functional.hardswish(x)
assert not checked.faults
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from oracle.kernel_entry import DTYPE_CODES, call_kernel, dense, registered_kernels, schema_of

# Results whose values are not determined by the arguments: only sizes and dtype are compared.
UNDETERMINED = frozenset(
    f"aten::{name}"
    for name in (
        *("empty.out", "empty_like.out", "empty_strided.out", "rand.out", "rand_like.out", "randn.out"),
        *("randn_like.out", "randint.out", "randint.low_out", "randint_like.out", "randint_like.low_dtype_out"),
        *("randperm.out", "bernoulli.out", "bernoulli.float_out", "native_dropout.out", "multinomial.out"),
    )
)
# Results that may list equal elements in any order: their indices must point to elements equal to the values.
ORDERED = frozenset({f"aten::{name}.values" for name in ("topk", "sort", "kthvalue", "mode")})
# (rtol, atol) where torch.testing's own are too tight: 16-bit results are rounded once here, step by step in eager.
TOLERANCE = {torch.float16: (4e-3, 4e-3), torch.bfloat16: (3.2e-2, 3.2e-2), torch.float32: (1e-5, 1e-5)}


@functools.cache
def _kernels_by_operator() -> dict[str, list[tuple[str, torch.FunctionSchema]]]:
    """Kernels by the base name of the operator, a view's copy under the view's name as well."""
    found: dict[str, list[tuple[str, torch.FunctionSchema]]] = {}
    for name in sorted(registered_kernels()):
        if name.startswith("aten::"):
            operator = name.partition(".")[0]
            for alias in {operator, operator.removesuffix("_copy")}:
                found.setdefault(alias, []).append((name, schema_of(name)))
    return found


def _inputs(schema: torch.FunctionSchema) -> list[tuple[str, str]]:
    return [(a.name, str(a.real_type)) for a in schema.arguments if not a.is_out]


@functools.cache
def kernel_for(call: torch._ops.OpOverload) -> tuple[str, torch.FunctionSchema] | None:
    """The kernel of the out variant that has the call's arguments (a creation's dtype, layout, … aside), if any."""
    wanted = _inputs(call._schema)
    for name, schema in _kernels_by_operator().get(call._schema.name, []):
        given = _inputs(schema)
        rest = [argument for argument in wanted if argument not in given]
        if all(argument in wanted for argument in given) and all(r[0] in _OF_CREATION for r in rest):
            return name, schema
    return None


_OF_CREATION = frozenset({"dtype", "layout", "device", "pin_memory", "memory_format", "non_blocking", "implicit"})


def _holdable(value: Any) -> bool:
    """Whether kernels can hold what an argument is or contains."""
    if isinstance(value, torch.Tensor):
        known = value.dtype in DTYPE_CODES and not value.dtype.is_complex
        return known and value.layout is torch.strided and value.device.type == "cpu" and value.dim() <= 16
    if isinstance(value, (list, tuple)):
        return all(_holdable(v) for v in value)
    return not isinstance(value, (complex, torch.Generator))


def _fits(schema: torch.FunctionSchema, args: Sequence[Any]) -> bool:
    """Whether the arguments are what a program can hold: no number for a tensor, no view of more storage."""
    for argument, value in zip(schema.arguments, args, strict=False):
        if str(argument.real_type) == "Tensor" and not isinstance(value, torch.Tensor):
            return False
        if schema.name.startswith("aten::as_strided") and isinstance(value, torch.Tensor):
            return (
                value.storage_offset() == 0 and value.numel() * value.element_size() == value.untyped_storage().nbytes()
            )
    return True


def _dense_all(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return dense(value)
    return [_dense_all(v) for v in value] if isinstance(value, (list, tuple)) else value


def _copy_all(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    return [_copy_all(v) for v in value] if isinstance(value, (list, tuple)) else value


def _room_for(result: Any) -> Any:
    """Memory for a result, in its dim order, filled with what no kernel would write by chance."""
    if isinstance(result, torch.Tensor):
        return torch.full_like(dense(result), 77 if result.dtype is not torch.bool else True)
    return [_room_for(r) for r in result]


def _at(values: torch.Tensor, dim: int, indices: torch.Tensor) -> torch.Tensor:
    if values.dim() == 0:
        return values
    reduced = indices.dim() < values.dim()
    return values.gather(dim, indices.unsqueeze(dim)).squeeze(dim) if reduced else values.gather(dim, indices)


def _describe(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    return f"[{', '.join(map(_describe, value))}]" if isinstance(value, (list, tuple)) else repr(value)


def mismatch(found: Any, expected: Any) -> str:
    """Empty where sizes, dtypes and values agree within TOLERANCE."""
    if isinstance(expected, torch.Tensor):
        rtol, atol = TOLERANCE.get(expected.dtype, (None, None))
        try:
            torch.testing.assert_close(found, expected, rtol=rtol, atol=atol, equal_nan=True, check_stride=False)
        except AssertionError as error:
            return str(error).replace("\n", " ")
        return ""
    return " ".join(filter(None, (mismatch(f, e) for f, e in zip(found, expected, strict=True))))


@dataclass
class KernelsAgainstEager(TorchDispatchMode):
    """While active, compares each ATen call with its kernel. ``faults`` says where they differ, ``tested`` what ran."""

    faults: list[str] = field(default_factory=list)
    tested: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        kernel = kernel_for(func)
        testable = kernel is not None and not func._schema.is_mutable
        testable = testable and _holdable([*args, *kwargs.values()]) and _fits(func._schema, args)
        before = _copy_all(args) if testable else None
        result = func(*args, **kwargs)
        # Operators that give a number (item, sizes) are the runtime's own, without an out tensor.
        if kernel is not None and testable and isinstance(result, (torch.Tensor, list, tuple)) and _holdable(result):
            self._compare(*kernel, before, kwargs, result)
        return result

    def _compare(self, name: str, schema: torch.FunctionSchema, args: Any, kwargs: dict[str, Any], result: Any) -> None:
        several = isinstance(result, (list, tuple)) and not any(
            "List[" in str(a.real_type) for a in schema.arguments if a.is_out
        )
        results = list(result) if several else [result]
        known = {a.name for a in schema.arguments if not a.is_out}
        options = {k: _dense_all(v) for k, v in kwargs.items() if k in known}
        call = call_kernel(name, *map(_dense_all, args), out=[_room_for(r) for r in results], schema=schema, **options)
        self.tested.add(name)
        what = f"{name}({', '.join(map(_describe, args))}, {options})"
        if call.error != 0:
            self.faults.append(f"{what}: error {call.error}: {call.message.strip()}")
        elif name in UNDETERMINED:
            pass
        elif name in ORDERED:
            dim = (
                (*args, -1)[1 + (name in ("aten::topk.values", "aten::kthvalue.values"))]
                if len(args) > 1
                else kwargs.get("dim", -1)
            )
            picked = _at(args[0], dim, call.outputs[1])
            if fault := mismatch([call.outputs[0], picked], [results[0]] * 2):
                self.faults.append(f"{what}: {fault}")
        elif fault := mismatch(call.outputs, results):
            self.faults.append(f"{what}: {fault}")
