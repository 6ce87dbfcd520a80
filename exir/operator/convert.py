# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Find variants of an operator by schema: functional, out, view, copy."""

from __future__ import annotations

from functools import cache

import torch
from torch._ops import OpOverload

from executorch.exir.error import ExportError
from executorch.exir.operator.definitions import define_operators

# Arguments that describe the result; out variants lack them, because `out` is given.
_RESULT_OPTIONS = frozenset({"dtype", "layout", "device", "pin_memory"})


class NoOutVariantError(ExportError, RuntimeError):
    """No overload of an operator writes to `out=`. It is also a `RuntimeError`, which ExecuTorch 1.4 raises."""


def is_written_argument(argument: torch.Argument) -> bool:
    """Return whether an operator writes to this argument of its schema."""
    return argument.alias_info is not None and argument.alias_info.is_write


def out_argument_names(op: OpOverload) -> tuple[str, ...]:
    """Return the names of an out variant's output arguments, in order; empty for other operators."""
    return tuple(
        argument.name for argument in op._schema.arguments if argument.kwarg_only and is_written_argument(argument)
    )


def is_out_variant(qualified_opname: OpOverload | str, overload: str = "") -> bool:
    """Return whether an operator is an out variant. The operator is an overload, or a name such as `aten::topk` with
    an overload name."""
    op = qualified_opname
    return bool(out_argument_names(get_op_overload(op, overload) if isinstance(op, str) else op))


def get_op_overload(qualified_opname: str, overload: str) -> OpOverload:
    """Return the operator of a name such as `aten::topk` and an overload name, "" for the default one.

    Raises `ExportError` if it is not registered with PyTorch.
    """
    namespace, _, name = qualified_opname.partition("::")
    packet = getattr(getattr(torch.ops, namespace, None), name, None) if name else None
    op: OpOverload | None = getattr(packet, overload or "default", None)
    if op is None:
        raise ExportError("operator", f"{qualified_opname}.{overload}", "no such operator is registered with PyTorch")
    return op


def unwrap_op_overload(target: object) -> OpOverload:
    """Return `target` if it is an ATen operator, or the ATen operator that an edge or backend operator wraps.

    Raises TypeError for anything else.
    """
    op = target if isinstance(target, OpOverload) else getattr(target, "_op", None)
    if not isinstance(op, OpOverload):
        raise TypeError(f"expected an OpOverload, or an operator that holds one as _op, found {target!r}")
    return op


def _memory(item: torch.Argument) -> frozenset[str]:
    """Return the alias set of an argument or result, as in `Tensor(a!)`."""
    return frozenset(item.alias_info.before_set) if item.alias_info else frozenset()


def output_to_aliased_input_map(schema: torch.FunctionSchema) -> dict[int, int]:
    """Return position of a result → position of the written argument that it aliases.

    schema: an operator's `_schema`. If several arguments alias the result, the first one counts.
    """
    written: dict[frozenset[str], int] = {}
    for position, item in enumerate(schema.arguments):
        if is_written_argument(item):
            written.setdefault(_memory(item), position)
    memory = {place: _memory(item) for place, item in enumerate(schema.returns) if is_written_argument(item)}
    return {place: written[names] for place, names in memory.items() if names in written}


@cache
def is_functional(op: OpOverload) -> bool:
    """Return whether `op` neither writes to an argument nor returns a view of one."""
    schema = op._schema
    return not schema.is_mutable and not any(item.alias_info is not None for item in schema.returns)


@cache
def is_view(op: OpOverload) -> bool:
    """Return whether `op` returns a view of an argument without writing to it."""
    schema = op._schema
    return not schema.is_mutable and any(item.alias_info is not None for item in schema.returns)


def _overloads(op: OpOverload) -> list[OpOverload]:
    define_operators(op.namespace)
    # Do not use packet.overloads(): it caches the names of its first use.
    _, names = torch._C._jit_get_operation(op._schema.name)
    return [getattr(op.overloadpacket, name or "default") for name in names]


def _signature(op: OpOverload, leave_out: frozenset[str]) -> list[tuple[str, str]]:
    return [(item.name, str(item.type)) for item in op._schema.arguments if item.name not in leave_out]


_out_variants: dict[OpOverload, OpOverload] = {}


def find_out_variant(op: OpOverload) -> OpOverload | None:
    """Return the overload with the same name and inputs that writes to `out=` arguments, or None."""
    if op not in _out_variants:
        out_variant = _find_out_variant(op)
        if out_variant is None:
            return None  # not cached: users may register one later
        _out_variants[op] = out_variant
    return _out_variants[op]


def _find_out_variant(op: OpOverload) -> OpOverload | None:
    if is_out_variant(op):
        return op
    for candidate in _overloads(op):
        names = frozenset(out_argument_names(candidate))
        if not names:
            continue
        inputs = _signature(candidate, names)
        dropped = _RESULT_OPTIONS - {name for name, _ in inputs}
        if len(names) == len(op._schema.returns) and inputs == _signature(op, dropped):
            return candidate
    return None


def to_out_variant(op_overload: OpOverload) -> tuple[OpOverload, tuple[str, ...]]:
    """Return an operator's out variant and the names of its out arguments. Raises like `require_out_variant`."""
    out_variant = require_out_variant(op_overload)
    return out_variant, out_argument_names(out_variant)


def require_out_variant(op: OpOverload) -> OpOverload:
    """Return the out variant of `op`. Raises `NoOutVariantError` if none is registered with PyTorch."""
    out_variant = find_out_variant(op)
    if out_variant is None:
        raise NoOutVariantError(
            "to out variant", op.name(), f"no overload of {op._schema.name} takes these inputs and writes to out="
        )
    return out_variant


@cache
def to_copy_variant(op: OpOverload) -> OpOverload | None:
    """Return the copying variant of the view operator `op` (`view` → `view_copy`), or None."""
    name = op._schema.name.split("::")[1]
    packet = getattr(getattr(torch.ops, op.namespace), f"{name}_copy", None)
    if packet is None or op._overloadname not in packet.overloads():
        return None
    copy_variant: OpOverload = getattr(packet, op._overloadname)
    return copy_variant


def get_out_args_from_opoverload(op_overload: OpOverload) -> tuple[str, ...]:
    """Return the names of an operator's out arguments, in order."""
    return out_argument_names(op_overload)
