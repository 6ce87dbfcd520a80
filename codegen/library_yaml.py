# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Read the yaml of a kernel library into rows.

An entry names an operator and, optionally, its kernels::

    - func: add.out(Tensor self, ...) -> Tensor(a!)        # a schema, which determines the kernel's C++ name,
    - op: add.out                                          # or the name of an operator of the portable library
      type_alias: {T0: [Double, Float]}                    # names for dtypes ...
      dim_order_alias: {D0: [[0, 1, 2, 3], [0, 2, 3, 1]]}  # ... and dim orders of partial kernels
      kernels:
        - arg_meta: null                                   # the fallback: any dtype, any dim order
          kernel_name: my::add_out                         # the function my::native::add_out
        - arg_meta: {self: [T0, D0], other: [T0, D0], out: [T0, D0]}
          kernel_name: my::add_out_fast
          context: false                                   # the function lacks the leading KernelRuntimeContext&

In a library of ATen mode that uses ATen's kernels, any entry without ``kernels`` uses ATen's kernel.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from executorch.codegen.cpp_types import argument_types, return_type
from executorch.codegen.dtypes import SCALAR_TYPE_CODES
from executorch.codegen.located_yaml import CodegenError, Located, read_located
from executorch.codegen.schema import Argument, Schema, SchemaError, parse_schema, qualified

# Keys of PyTorch's native_functions.yaml that are ignored, so that entries can be copied from there.
_PYTORCH_KEYS = {"autogen", "device_check", "dispatch", "manual_cpp_binding", "structured", "structured_delegate",
                 "structured_inherits", "tags", "variants"}  # fmt: skip
_ENTRY_KEYS = {"func", "op", "type_alias", "dim_order_alias", "kernels"} | _PYTORCH_KEYS
_KERNEL_KEYS = {"arg_meta", "kernel_name", "context"}

# The namespace in which ExecuTorch's documentation shows the portable kernels.
_DOCUMENTED_PORTABLE = "torch::executor"
_OWN = "executorch::kernels::"


@dataclass(frozen=True)
class KernelRow:
    """One row of a registration table. ``key`` is empty for the fallback, else the partial kernel's key."""

    schema: Schema
    function: str
    key: str = ""
    dtypes: frozenset[str] = frozenset()
    """Dtypes of the tensors of a partial kernel."""
    takes_context: bool = True
    place: str = ""

    @property
    def namespace(self) -> str:
        """The C++ namespace of the function."""
        return self.function.rpartition("::")[0]


def read_library(
    path: Path, namespace: str | None, known: Mapping[str, KernelRow], *, use_aten_lib: bool = False
) -> list[KernelRow]:
    """Return the rows of a yaml in its order.

    Args:
        path: the yaml.
        namespace: C++ namespace of unnamed kernels; default ``<the operator's namespace>::native``.
        known: operator → row of the portable library, to which ``op:`` entries refer.
        use_aten_lib: omit entries without ``kernels``, which use ATen's (``aten_operators``).

    Raises:
        CodegenError: names file, line, expected and found.
    """
    entries = [entry for entry in _entries(path) if "kernels" in entry or not use_aten_lib]
    rows = [row for entry in entries for row in _rows_of(entry, namespace, known)]
    refuse_duplicates(rows)
    return rows


def aten_operators(path: Path) -> list[str]:
    """Operators that use ATen's kernels in a library of ATen mode. Raises ``CodegenError``."""
    places: dict[str, str] = {}
    for entry in (entry for entry in _entries(path) if "kernels" not in entry):
        name, place = qualified(_name_of(entry)), entry["func" if "func" in entry else "op"].place
        if name in places:
            raise CodegenError(f"{place}: {name} has two entries, the first at {places[name]}")
        places[name] = place
    return list(places)


def operator_names(path: Path) -> list[str]:
    """Operators of the entries of a library's yaml. Raises ``CodegenError``."""
    return [qualified(_name_of(entry)) for entry in _entries(path)]


def schema_texts(path: Path) -> dict[str, str]:
    """Operator → its schema as the yaml states it. Raises ``CodegenError``."""
    entries = [entry for entry in _entries(path) if "func" in entry]
    return {qualified(_name_of(entry)): entry["func"].text("an operator schema") for entry in entries}


def suggestion(name: str, known: Sequence[str]) -> str:
    """``; did you mean …`` with similar known names; empty without any."""
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.75)
    return f"; did you mean {', '.join(close)}?" if close else ""


def refuse_duplicates(rows: Sequence[KernelRow]) -> None:
    """Raise ``CodegenError`` for two kernels of one operator and key, naming both places."""
    seen: dict[tuple[str, str], KernelRow] = {}
    for row in rows:
        identity = (row.schema.qualified_name, row.key)
        if identity in seen:
            key = f"for key {row.key!r}" if row.key else "that are fallbacks"
            raise CodegenError(f"{row.place}: {identity[0]} has two kernels {key}, the first at {seen[identity].place}")
        seen[identity] = row


def _entries(path: Path) -> list[dict[str, Located]]:
    entries = []
    for item in read_located(path).items("operators"):
        entry = item.mapping("an operator's entry", _ENTRY_KEYS)
        if ("func" in entry) == ("op" in entry):
            raise item.error("an entry requires exactly one of 'func' (a schema) and 'op' (an operator's name)")
        entries.append(entry)
    return entries


def _name_of(entry: Mapping[str, Located]) -> str:
    if "op" in entry:
        return entry["op"].text("an operator's name")
    return _schema_of(entry["func"]).qualified_name


def _schema_of(func: Located) -> Schema:
    try:
        schema = parse_schema(func.text("an operator schema"))
        return_type(schema)
        argument_types(schema)
    except SchemaError as e:
        raise func.error(str(e)) from e
    if schema.returns and not schema.outputs:
        raise func.error(f"expected an out variant, as '..., *, Tensor(a!) out) -> Tensor(a!)', found {func.value!r}")
    return schema


def _rows_of(
    entry: Mapping[str, Located], namespace: str | None, known: Mapping[str, KernelRow]
) -> Iterator[KernelRow]:
    place = entry["func" if "func" in entry else "op"].place
    portable = known.get(qualified(_name_of(entry)))
    if "op" in entry and portable is None:
        name = qualified(_name_of(entry))
        raise entry["op"].error(
            f"operator {name} is not in the portable library: give its schema with 'func'"
            + suggestion(name, list(known))
        )
    schema = _schema_of(entry["func"]) if "func" in entry or portable is None else portable.schema
    if "kernels" not in entry:
        if "op" in entry and portable is not None:
            yield KernelRow(schema, portable.function, place=place)
        else:
            yield KernelRow(
                schema, f"{namespace or schema.namespace + '::native'}::{schema.function_name}", place=place
            )
        return
    for item in entry["kernels"].items("kernels"):
        kernel = item.mapping("a kernel", _KERNEL_KEYS)
        if "kernel_name" not in kernel:
            raise item.error(f"a kernel of {schema.qualified_name} lacks 'kernel_name'")
        function = _function(kernel["kernel_name"], schema, namespace, portable)
        context = "context" not in kernel or kernel["context"].boolean("context")
        for key, dtypes in _kernel_keys(schema, kernel.get("arg_meta"), entry):
            yield KernelRow(schema, function, key, dtypes, context, item.place)


def _function(name: Located, schema: Schema, namespace: str | None, portable: KernelRow | None) -> str:
    """C++ function of a ``kernel_name``: ``my::add_out`` means ``my::native::add_out``, as documented."""
    scope, _, function = name.text("a C++ function's name").rpartition("::")
    if not function.isidentifier():
        raise name.error(f"expected a C++ function's name, found {name.value!r}")
    if not scope:
        return f"{namespace or schema.namespace + '::native'}::{function}"
    if scope == _DOCUMENTED_PORTABLE and portable is not None and not function.startswith("opt_"):
        return portable.function
    return name.value if scope.startswith(_OWN) or scope.endswith("native") else f"{scope}::native::{function}"


def _kernel_keys(
    schema: Schema, arg_meta: Located | None, entry: Mapping[str, Located]
) -> Iterator[tuple[str, frozenset[str]]]:
    """(key, dtypes) of each combination of the used aliases.

    A key is ``v1/<dtype>;<dim order>|…`` over the tensor arguments (runtime/kernel/operator_registry.h).
    """
    if arg_meta is None or arg_meta.value is None:
        yield "", frozenset()
        return
    types = _type_aliases(entry.get("type_alias"))
    orders = _dim_order_aliases(entry.get("dim_order_alias"))
    metas = _argument_metas(schema, arg_meta, types, orders)
    used_types = sorted({meta[0] for meta in metas})
    used_orders = sorted({meta[1] for meta in metas})
    for chosen_types in itertools.product(*(types[name] for name in used_types)):
        type_of = dict(zip(used_types, chosen_types, strict=True))
        for chosen_orders in itertools.product(*(orders[name] for name in used_orders)):
            order_of = dict(zip(used_orders, chosen_orders, strict=True))
            parts = (f"{SCALAR_TYPE_CODES[type_of[t]]};{','.join(map(str, order_of[d]))}" for t, d in metas)
            yield "v1/" + "|".join(parts), frozenset(chosen_types)


def _argument_metas(
    schema: Schema, arg_meta: Located, types: Mapping[str, object], orders: Mapping[str, object]
) -> list[tuple[str, str]]:
    """Aliases of each tensor argument in the schema's order; None for an omitted optional argument."""
    tensors = {a.name: a for a in schema.arguments if a.base == "Tensor" and not a.is_list}
    given = arg_meta.mapping("arg_meta")
    for name, meta in given.items():
        if name not in tensors:
            raise meta.error(
                f"{schema.qualified_name} has no tensor argument {name!r}: expected one of {', '.join(tensors)}"
            )
    missing = [name for name, argument in tensors.items() if name not in given and not _may_lack(argument)]
    if missing:
        raise arg_meta.error(f"arg_meta of {schema.qualified_name} lacks the tensor arguments {', '.join(missing)}")
    metas = []
    for name in (name for name in tensors if name in given):
        pair = [item.text("an alias") for item in given[name].items("a dtype's and a dim order's alias")]
        if len(pair) != 2:
            raise given[name].error(f"expected [dtype alias, dim order alias] for {name!r}, found {pair}")
        for alias, defined, where in ((pair[0], types, "type_alias"), (pair[1], orders, "dim_order_alias")):
            if alias not in defined:
                raise given[name].error(f"undefined alias {alias!r}; {where} defines {', '.join(defined) or 'none'}")
        metas.append((pair[0], pair[1]))
    return metas


def _may_lack(argument: Argument) -> bool:
    return argument.is_optional


def _type_aliases(node: Located | None) -> dict[str, list[str]]:
    aliases = {}
    for alias, names in (node.mapping("type_alias") if node else {}).items():
        aliases[alias] = [item.text("a dtype's name") for item in names.items("dtypes")]
        for dtype in aliases[alias]:
            if dtype not in SCALAR_TYPE_CODES:
                raise names.error(f"unknown dtype {dtype!r}; known: {', '.join(SCALAR_TYPE_CODES)}")
    return aliases


def _dim_order_aliases(node: Located | None) -> dict[str, list[list[int]]]:
    aliases = {}
    for alias, orders in (node.mapping("dim_order_alias") if node else {}).items():
        aliases[alias] = [[dim.value for dim in order.items("dimensions")] for order in orders.items("dim orders")]
        for order in aliases[alias]:
            if sorted(order, key=str) != sorted(range(len(order)), key=str):
                raise orders.error(f"dim order {order} is not a permutation of the dimensions 0 to {len(order) - 1}")
    return aliases
