# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Which dtypes an operator takes, as a table: the generic rule, and the operators it does not hold for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import fx

# Dtypes that the file format can say.
STORABLE = frozenset(
    {
        torch.uint8,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.uint16,
        torch.uint32,
        torch.uint64,
        torch.bool,
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.float64,
        torch.float8_e5m2,
        torch.float8_e4m3fn,
        torch.float8_e5m2fnuz,
        torch.float8_e4m3fnuz,
    }
)
FLOATING = frozenset({torch.float16, torch.bfloat16, torch.float32, torch.float64})


COMPLEX = frozenset({torch.complex64, torch.complex128})


@dataclass(frozen=True)
class DtypeRule:
    """allowed: dtypes of tensor arguments. equal: groups of argument names that must have one dtype."""

    allowed: frozenset[torch.dtype] = STORABLE
    equal: tuple[tuple[str, ...], ...] = ()


_BINARY = DtypeRule(equal=(("self", "other"),))
_MATRIX = DtypeRule(equal=(("self", "mat1", "mat2", "batch1", "batch2", "vec"),))
_CONVOLUTION = DtypeRule(equal=(("input", "weight", "bias"),))
_NORMALIZATION = DtypeRule(allowed=FLOATING, equal=())

# Operator → its rule; an operator that is not listed takes any storable dtype in any combination.
RULES: dict[str, DtypeRule] = {
    **{
        f"aten::{name}.Tensor": _BINARY
        for name in [
            "add",
            "sub",
            "mul",
            "div",
            "eq",
            "ne",
            "lt",
            "le",
            "gt",
            "ge",
            "fmod",
            "remainder",
            "bitwise_and",
            "bitwise_or",
            "bitwise_xor",
        ]
    },
    "aten::minimum": _BINARY,
    "aten::maximum": _BINARY,
    "aten::atan2": _BINARY,
    "aten::where.self": _BINARY,
    "aten::mm": _MATRIX,
    "aten::bmm": _MATRIX,
    "aten::addmm": _MATRIX,
    "aten::convolution": _CONVOLUTION,
    "aten::native_layer_norm": _NORMALIZATION,
    "aten::native_group_norm": _NORMALIZATION,
    "aten::_native_batch_norm_legit_no_training": _NORMALIZATION,
    "aten::_softmax": DtypeRule(allowed=FLOATING),
    "aten::_log_softmax": DtypeRule(allowed=FLOATING),
}
# What makes complex numbers, takes them apart, or moves elements without a look at them.
_ON_COMPLEX = (
    *("aten::_conj_physical", "aten::_fft_c2c", "aten::_fft_c2r", "aten::_to_copy", "aten::alias_copy"),
    *("aten::as_strided_copy", "aten::cat", "aten::clone", "aten::complex", "aten::diagonal_copy"),
    *("aten::expand_copy", "aten::flip", "aten::gather", "aten::index.Tensor", "aten::index_put"),
    *("aten::index_select", "aten::permute_copy", "aten::repeat", "aten::roll", "aten::select_copy.int"),
    *("aten::slice_copy.Tensor", "aten::split_copy.Tensor", "aten::split_with_sizes_copy", "aten::squeeze_copy.dim"),
    *("aten::squeeze_copy.dims", "aten::stack", "aten::t_copy", "aten::transpose_copy.int", "aten::unbind_copy.int"),
    *("aten::unfold_copy", "aten::unsqueeze_copy", "aten::view_as_real_copy", "aten::view_copy"),
    *("dim_order_ops::_clone_dim_order", "dim_order_ops::_to_dim_order_copy"),
)
RULES.update({name: DtypeRule(allowed=STORABLE | COMPLEX) for name in _ON_COMPLEX})
_GENERIC = DtypeRule()


def _tensor_arguments(node: fx.Node) -> Iterator[tuple[str, torch.dtype]]:
    for index, item in enumerate(node.target._schema.arguments):  # type: ignore[union-attr]
        value = node.kwargs.get(item.name) if item.kwarg_only or index >= len(node.args) else node.args[index]
        for held in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(held, fx.Node) and isinstance(held.meta.get("val"), torch.Tensor):
                yield item.name, held.meta["val"].dtype


def dtype_violation(node: fx.Node) -> str:
    """What is wrong with the dtypes of an operator call, or ""."""
    rule = RULES.get(node.target.name(), _GENERIC)  # type: ignore[union-attr]
    found = list(_tensor_arguments(node))
    for name, dtype in found:
        if dtype not in rule.allowed:
            allowed = ", ".join(sorted(str(item).removeprefix("torch.") for item in rule.allowed))
            return f"argument '{name}' has dtype {dtype}; the operator takes {allowed}"
    for group in rule.equal:
        dtypes = {name: dtype for name, dtype in found if name in group}
        if len(set(dtypes.values())) > 1:
            return f"arguments must have one dtype, found {', '.join(f'{n}: {d}' for n, d in dtypes.items())}"
    return ""
