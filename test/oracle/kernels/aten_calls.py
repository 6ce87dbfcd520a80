# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Turns any eager computation into kernel tests: every ATen call in it that a kernel serves is repeated there.

with KernelsAgainstEager() as checked:
    torch.nn.functional.hardswish(x)
assert not checked.faults
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from oracle.kernels.argument_kinds import DTYPE_CODES
from oracle.kernels.dense_memory import dense
from oracle.kernels.kernel_call import EagerCall, compare, computed_wider, kernel_refuses
from oracle.kernels.kernel_entry import registered_kernels, schema_of
from torch.utils._python_dispatch import TorchDispatchMode

_OF_CREATION = frozenset({"dtype", "layout", "device", "pin_memory", "memory_format", "non_blocking", "implicit"})


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


def _holdable(value: Any) -> bool:
    """Return whether kernels can hold what an argument is or contains."""
    if isinstance(value, torch.Tensor):
        known = value.dtype in DTYPE_CODES and value.layout is torch.strided
        return known and value.device.type == "cpu" and value.dim() <= 16
    if isinstance(value, (list, tuple)):
        return all(_holdable(v) for v in value)
    return not isinstance(value, (complex, torch.Generator))


def _no_view_of_more(schema: torch.FunctionSchema, args: Sequence[Any]) -> bool:
    """Skip as_strided calls that reach beyond a tensor's own elements: programs cannot express them."""
    if not schema.name.startswith("aten::as_strided"):
        return True
    tensor = args[0]
    whole = tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes()
    return whole and tensor.storage_offset() == 0 and tensor.is_contiguous()


def _dense_copy(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return dense(value).clone()
    return [_dense_copy(v) for v in value] if isinstance(value, (list, tuple)) else value


def _arguments(schema: torch.FunctionSchema, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """Copies of the kernel's arguments without the outputs, defaults filled in; numbers for tensors made tensors."""
    arguments = []
    for i, argument in enumerate(a for a in schema.arguments if not a.is_out):
        value = args[i] if i < len(args) else kwargs.get(argument.name, argument.default_value)
        if str(argument.real_type) == "Tensor" and isinstance(value, (bool, int, float)):
            value = torch.tensor(value)
        arguments.append(_dense_copy(value))
    return arguments


@functools.cache
def _decompositions() -> dict[Any, Callable[..., Any]]:
    return torch.export.default_decompositions()


def _is_about_arguments(func: Any, error: Exception) -> bool:
    """Skip dtypes that eager lacks, and given outputs, which may alias."""
    return "not implemented" not in str(error) and not any(a.is_out for a in func._schema.arguments)


def _without_numbers(
    func: Any, before: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
) -> tuple[tuple[Any, ...], Any]:
    """Arguments and eager's result where numbers for tensors are tensors, which promote differently."""
    swapped = tuple(
        b if isinstance(b, torch.Tensor) and not isinstance(a, torch.Tensor) else a
        for a, b in itertools.zip_longest(args, before[: len(args)])
    )
    if all(a is s for a, s in zip(args, swapped, strict=True)):
        return args, result
    return swapped, func(*swapped, **kwargs)


@dataclass
class KernelsAgainstEager(TorchDispatchMode):
    """While active, compares each ATen call with its kernel.

    ``faults`` says where they differ, ``tested`` which kernels ran. With ``refusals``, calls that eager refuses must be
    refused by the kernel as well. With ``decompose``, operators without a kernel are also computed as the compiler
    decomposes them.
    """

    refusals: bool = False
    decompose: bool = False
    faults: list[str] = field(default_factory=list)
    tested: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        kernel = kernel_for(func)
        if kernel is None:
            if self.decompose and (steps := _decompositions().get(func)) and not func._schema.is_mutable:
                with self:
                    steps(*args, **kwargs)
            return func(*args, **kwargs)
        return self.call(kernel[0], func, args, kwargs)

    def call(self, kernel: str, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Result of ``func``; the kernel that implements it is compared."""
        schema = schema_of(kernel)
        testable = _holdable([*args, *kwargs.values()]) and _no_view_of_more(func._schema, args)
        before = _arguments(schema, args, kwargs) if testable else []
        try:
            result = func(*args, **kwargs)
        except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError) as error:
            if self.refusals and testable and _is_about_arguments(func, error):
                self.tested.add(kernel)
                self._note(kernel_refuses(EagerCall(kernel, schema, before, None)))
            raise
        # Operators that give a number (item, sizes) are the runtime's own, without an out tensor.
        if testable and isinstance(result, (torch.Tensor, list, tuple)) and _holdable(result):
            self.tested.add(kernel)
            args, result_of_tensors = _without_numbers(func, before, args, kwargs, result)
            self._compare(EagerCall.of(kernel, schema, before, args, result_of_tensors), func, args, kwargs)
        return result

    def _compare(self, call: EagerCall, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        fault = compare(call)
        if fault and (instead := computed_wider(call, func, args, kwargs)):
            fault = compare(instead)
        self._note(fault)

    def _note(self, fault: str) -> None:
        if fault:
            self.faults.append(fault)
