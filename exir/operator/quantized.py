# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operators `quantized_decomposed::…` that torch lacks: those on packed weights, and all out variants.

`kernels/quantized/functions.yaml` has their schemas. This module implements them in terms of torch operators.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.ao.quantization.fx import _decomposed  # noqa: F401  # defines the namespace

NAMESPACE = "quantized_decomposed"
_YAML = Path(__file__).resolve().parents[2] / "kernels" / "quantized" / "functions.yaml"
_SCHEMA = re.compile(rf"^- func: {NAMESPACE}::((\w+)\.(\w+)\((.*)\) -> .*)$", re.MULTILINE)

library = torch.library.Library(NAMESPACE, "FRAGMENT")
decomposed = torch.ops.quantized_decomposed

_TABLE = "Tensor weight, Tensor weight_scales, Tensor? weight_zero_points"
_LOOK_UP = f"{_TABLE}, int weight_quant_min, int weight_quant_max, Tensor indices"
_SUMMANDS = ", ".join(
    f"Tensor {name}, float {name}_scale, int {name}_zero_point, int {name}_quant_min, int {name}_quant_max"
    for name in ("a", "b")
)
_FUNCTIONAL = (
    *(f"embedding_{bits}({_LOOK_UP}) -> Tensor" for bits in ("2bit", "4bit", "byte")),
    *(f"embedding_{bits}.dtype({_LOOK_UP}, *, ScalarType? dtype=None) -> Tensor" for bits in ("2bit", "4bit", "byte")),
    f"mixed_linear(Tensor input, {_TABLE}, ScalarType? dtype=None) -> Tensor",
    f"mixed_mm(Tensor input, {_TABLE}) -> Tensor",
    f"add({_SUMMANDS}, float out_scale, int out_zero_point, int out_quant_min, int out_quant_max) -> Tensor qc",
)


def unpacked(weight: torch.Tensor, bits: int) -> torch.Tensor:
    """Unpack (rows, bytes) to (rows, columns) of integers of `bits` bits, the inverse of `packed`."""
    if bits == 8:
        return weight
    places = range(8 // bits) if bits == 2 else reversed(range(8 // bits))
    parts = [(weight >> (place * bits)) & (2**bits - 1) for place in places]
    integers: torch.Tensor = torch.stack(parts, -1).flatten(1).to(torch.int8) - 2 ** (bits - 1)
    return integers


def packed(integers: torch.Tensor, bits: int) -> torch.Tensor:
    """Pack integers of `bits` bits into bytes for `embedding_4bit` and `embedding_2bit`.

    An offset makes them unsigned. The first of a pair is in the high half of the byte, the first of four in the lowest
    bits. ValueError: rows that do not fill bytes.
    """
    if bits == 8:
        return integers
    in_a_byte = 8 // bits
    if integers.shape[1] % in_a_byte:
        raise ValueError(f"rows of {integers.shape[1]} integers of {bits} bits do not fill bytes")
    raised = (integers + 2 ** (bits - 1)).to(torch.uint8).unflatten(1, (-1, in_a_byte))
    places = range(in_a_byte) if bits == 2 else reversed(range(in_a_byte))
    packed_bytes: torch.Tensor = torch.zeros_like(raised[..., 0])
    for index, place in enumerate(places):
        packed_bytes |= raised[..., index] << (place * bits)
    return packed_bytes


def _dequantized(
    integers: torch.Tensor, scales: torch.Tensor, zero_points: torch.Tensor | None, dtype: torch.dtype
) -> torch.Tensor:
    """Dequantize (rows, columns), with parameters for each row or group."""
    groups = scales.shape[1] if scales.dim() == 2 else 1
    rows = integers.unflatten(1, (groups, -1))
    taken = rows if zero_points is None else rows - zero_points.reshape(-1, groups, 1)
    dequantized: torch.Tensor = (taken * scales.reshape(-1, groups, 1)).flatten(1).to(dtype)
    return dequantized


def _look_up(bits: int) -> Callable[..., torch.Tensor]:
    def compute(
        weight: torch.Tensor,
        scales: torch.Tensor,
        zero_points: torch.Tensor | None,
        quant_min: int,
        quant_max: int,
        indices: torch.Tensor,
        dtype: torch.dtype | None = None,
    ) -> torch.Tensor:
        if bits < 8 and (quant_min, quant_max) != (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1):
            raise ValueError(f"expected integers of {bits} bits, found limits {quant_min} and {quant_max}")
        # Dequantize only the rows that are looked up.
        chosen = indices.reshape(-1)
        zeros = None if zero_points is None else zero_points[chosen]
        rows = _dequantized(unpacked(weight[chosen], bits), scales[chosen], zeros, dtype or scales.dtype)
        return rows.reshape(*indices.shape, rows.shape[-1])

    return compute


def _look_up_fake(bits: int) -> Callable[..., torch.Tensor]:
    def fake(
        weight: torch.Tensor,
        scales: torch.Tensor,
        zero_points: torch.Tensor | None,
        quant_min: int,
        quant_max: int,
        indices: torch.Tensor,
        dtype: torch.dtype | None = None,
    ) -> torch.Tensor:
        return weight.new_empty([*indices.shape, weight.shape[1] * (8 // bits)], dtype=dtype or scales.dtype)

    return fake


def _mixed_linear(
    input: torch.Tensor,
    weight: torch.Tensor,
    scales: torch.Tensor,
    zero_points: torch.Tensor | None,
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    filters = _dequantized(weight, scales.float(), None if zero_points is None else zero_points.float(), torch.float32)
    return (input.float() @ filters.t()).to(dtype or input.dtype)


def _mixed_mm(
    input: torch.Tensor, weight: torch.Tensor, scales: torch.Tensor, zero_points: torch.Tensor | None
) -> torch.Tensor:
    dequantized = _dequantized(
        weight, scales.float(), None if zero_points is None else zero_points.float(), torch.float32
    )
    return (input.float() @ dequantized).to(input.dtype)


def _mixed_fake(columns: int) -> Callable[..., torch.Tensor]:
    def fake(
        input: torch.Tensor,
        weight: torch.Tensor,
        scales: torch.Tensor,
        zero_points: torch.Tensor | None,
        dtype: torch.dtype | None = None,
    ) -> torch.Tensor:
        return input.new_empty([input.shape[0], weight.shape[columns]], dtype=dtype or input.dtype)

    return fake


def _add(a: torch.Tensor, *parameters: Any) -> torch.Tensor:
    b = parameters[4]
    left = decomposed.dequantize_per_tensor(a, *parameters[:4], a.dtype)
    right = decomposed.dequantize_per_tensor(b, *parameters[5:9], b.dtype)
    result: torch.Tensor = decomposed.quantize_per_tensor(left + right, *parameters[9:], a.dtype)
    return result


def _add_fake(a: torch.Tensor, *parameters: Any) -> torch.Tensor:
    return a.new_empty(torch.broadcast_shapes(a.shape, parameters[4].shape))


_IMPLEMENTATIONS: dict[str, tuple[Callable[..., torch.Tensor], Callable[..., torch.Tensor]]] = {
    **{
        f"embedding_{name}{overload}": (_look_up(bits), _look_up_fake(bits))
        for name, bits in (("2bit", 2), ("4bit", 4), ("byte", 8))
        for overload in ("", ".dtype")
    },
    "mixed_linear": (_mixed_linear, _mixed_fake(0)),
    "mixed_mm": (_mixed_mm, _mixed_fake(1)),
    "add": (_add, _add_fake),
}


def _written(name: str, overload: str, outputs: list[str]) -> Callable[..., object]:
    """Return an out variant for eager mode, which copies the functional variant's results."""
    functional = {"out": "default"}.get(overload, overload.removesuffix("_out").lower())

    def write(*args: object, **kwargs: torch.Tensor) -> object:
        targets = [kwargs.pop(output) for output in outputs]
        results = getattr(getattr(decomposed, name), functional)(*args, **kwargs)
        for target, result in zip(targets, results if len(targets) > 1 else (results,), strict=True):
            target.resize_(result.shape).copy_(result)
        return tuple(targets) if len(targets) > 1 else targets[0]

    return write


def _define() -> None:
    for schema in _FUNCTIONAL:
        name = schema.partition("(")[0]
        compute, fake = _IMPLEMENTATIONS[name]
        library.define(schema)
        library.impl(name, compute, "CompositeExplicitAutograd")
        torch.library.register_fake(f"{NAMESPACE}::{name}", fake, lib=library)
    for schema, name, overload, arguments in _SCHEMA.findall(_YAML.read_text()):
        outputs = re.findall(r"Tensor\(\w!\) (\w+)", arguments)
        library.define(schema)
        library.impl(f"{name}.{overload}", _written(name, overload, outputs), "CompositeExplicitAutograd")


_define()
