# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The yaml of a kernel library, read into rows.

An entry names an operator and, optionally, its kernels::

    - func: add.out(Tensor self, ...) -> Tensor(a!)        # a schema: the kernel's C++ name follows from it
    - op: add.out                                          # or the name of an operator of the portable library
      type_alias: {T0: [Double, Float]}                    # names for dtypes ...
      dim_order_alias: {D0: [[0, 1, 2, 3], [0, 2, 3, 1]]}  # ... and dim orders of partial kernels
      kernels:
        - arg_meta: null                                   # the fallback: any dtype, any dim order
          kernel_name: my::add_out
        - arg_meta: {self: [T0, D0], other: [T0, D0], out: [T0, D0]}
          kernel_name: my::add_out_fast
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from executorch.codegen.schema import Schema, SchemaError, parse_schema

# The ScalarType codes of the program format.
SCALAR_TYPE_CODES = {
    "Byte": 0, "Char": 1, "Short": 2, "Int": 3, "Long": 4, "Half": 5, "Float": 6, "Double": 7, "Bool": 11,
    "BFloat16": 15, "UInt16": 27, "UInt32": 28, "UInt64": 29,
}  # fmt: skip


class LibraryYamlError(ValueError):
    """A yaml entry that cannot be used; the message names the file, the entry and what is wrong."""


@dataclass(frozen=True)
class KernelRow:
    """One row of a registration table. ``key`` is empty for the fallback, else the partial kernel's key."""

    schema: Schema
    function: str
    key: str = ""


def read_library(path: Path, namespace: str, known: Mapping[str, Schema]) -> list[KernelRow]:
    """Rows of ``path``, in its order.

    ``namespace`` is the C++ namespace of kernels whose name is not given; ``known`` resolves ``op:`` entries.
    Raises ``LibraryYamlError``.
    """
    entries = yaml.load(path.read_text(), Loader=yaml.CSafeLoader) or []
    if not isinstance(entries, list):
        raise LibraryYamlError(f"{path}: expected a list of entries, found {type(entries).__name__}")
    rows: list[KernelRow] = []
    for entry in entries:
        try:
            rows.extend(_rows_of(entry, namespace, known))
        except (SchemaError, LibraryYamlError) as e:
            raise LibraryYamlError(f"{path}: {e}") from e
    _refuse_duplicates(path, rows)
    return rows


def _rows_of(entry: Any, namespace: str, known: Mapping[str, Schema]) -> Iterator[KernelRow]:
    if not isinstance(entry, dict) or not ({"func", "op"} & entry.keys()):
        raise LibraryYamlError(f"entry {entry!r} has neither 'func' (a schema) nor 'op' (an operator's name)")
    schema = parse_schema(entry["func"]) if "func" in entry else _lookup(str(entry["op"]), known)
    kernels = entry.get("kernels")
    if kernels is None:
        yield KernelRow(schema, f"{namespace}::{schema.function_name}")
        return
    for kernel in kernels:
        function = kernel.get("kernel_name")
        if not function:
            raise LibraryYamlError(f"a kernel of {schema.qualified_name} has no 'kernel_name'")
        # A name without its namespace means the library's own.
        function = function if "::" in function else f"{namespace}::{function}"
        for key in _kernel_keys(schema, kernel.get("arg_meta"), entry):
            yield KernelRow(schema, function, key)


def _lookup(name: str, known: Mapping[str, Schema]) -> Schema:
    qualified = name if "::" in name else f"aten::{name}"
    if qualified not in known:
        raise LibraryYamlError(f"operator {qualified} is not in the portable library; give its schema with 'func'")
    return known[qualified]


def _kernel_keys(schema: Schema, arg_meta: Mapping[str, list[str]] | None, entry: Mapping[str, Any]) -> Iterator[str]:
    """One key for each combination of the aliases used: ``v1/<dtype>;<dim order>|…`` over the tensor arguments."""
    if not arg_meta:
        yield ""
        return
    types: dict[str, list[str]] = entry.get("type_alias") or {}
    orders: dict[str, list[list[int]]] = entry.get("dim_order_alias") or {}
    tensors = [a.name for a in schema.arguments if a.base == "Tensor"]
    missing = [name for name in tensors if name not in arg_meta]
    if missing:
        raise LibraryYamlError(f"arg_meta of {schema.qualified_name} lacks the tensor arguments {missing}")
    used_types = sorted({arg_meta[name][0] for name in tensors})
    used_orders = sorted({arg_meta[name][1] for name in tensors})
    for alias in (*used_types, *used_orders):
        if alias not in types and alias not in orders:
            raise LibraryYamlError(f"arg_meta of {schema.qualified_name} uses the undefined alias {alias!r}")
    for chosen_types in itertools.product(*(types[t] for t in used_types)):
        for chosen_orders in itertools.product(*(orders[o] for o in used_orders)):
            type_of = dict(zip(used_types, chosen_types, strict=True))
            order_of = dict(zip(used_orders, chosen_orders, strict=True))
            parts = (
                f"{_code(type_of[arg_meta[n][0]])};{','.join(map(str, order_of[arg_meta[n][1]]))}" for n in tensors
            )
            yield "v1/" + "|".join(parts)


def _code(dtype: str) -> int:
    if dtype not in SCALAR_TYPE_CODES:
        raise LibraryYamlError(f"unknown dtype {dtype!r}; known: {', '.join(SCALAR_TYPE_CODES)}")
    return SCALAR_TYPE_CODES[dtype]


def _refuse_duplicates(path: Path, rows: list[KernelRow]) -> None:
    seen: set[tuple[str, str]] = set()
    for row in rows:
        identity = (row.schema.qualified_name, row.key)
        if identity in seen:
            raise LibraryYamlError(f"{path}: {identity[0]} has two kernels for key {identity[1] or 'fallback'!r}")
        seen.add(identity)
