# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Parse operator schemas as torch prints them.

The grammar is PyTorch's function-schema language (``aten/src/ATen/native/README.md`` in PyTorch):
``ns::name.overload(Type arg=default, *, Type arg, Tensor(a!) out) -> Tensor(a!)``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


class SchemaError(ValueError):
    """Schema that does not parse, or has types that kernels cannot take; the message quotes the invalid part."""


@dataclass(frozen=True)
class Argument:
    """One argument. base: element type (``Tensor``, ``int``, …) without list and optional marks."""

    name: str
    base: str
    is_list: bool
    is_optional: bool
    is_optional_item: bool
    is_mutated: bool


@dataclass(frozen=True)
class Schema:
    """A parsed operator schema."""

    namespace: str
    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: int

    @property
    def qualified_name(self) -> str:
        """Name in programs and in the registry: ``aten::add.out``."""
        return f"{self.namespace}::{self.name}" + (f".{self.overload}" if self.overload else "")

    @property
    def function_name(self) -> str:
        """Name of the C++ function, derived from the operator: ``add_out``."""
        return self.name + (f"_{self.overload.lower()}" if self.overload else "")

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """The arguments that the operator writes."""
        return tuple(a for a in self.arguments if a.is_mutated)


def qualified(name: str) -> str:
    """``add.out`` → ``aten::add.out``; names with a namespace stay unchanged."""
    return name if "::" in name else f"aten::{name}"


_HEAD = re.compile(r"^(?:(?P<ns>\w+)::)?(?P<name>\w+)(?:\.(?P<overload>\w+))?$")
_TYPE = re.compile(r"^(?P<base>\w+)(?:\((?P<alias>[^)]*)\))?(?P<item_opt>\?)?(?P<list>\[\d*\])?(?P<opt>\?)?$")
# Schema types that are equivalent for a kernel.
_BASE_ALIASES = {"SymInt": "int", "SymFloat": "float", "SymBool": "bool", "Generator": "Generator"}


def parse_schema(text: str, default_namespace: str = "aten") -> Schema:
    """Parse one schema string. Raises ``SchemaError`` that quotes the invalid part."""
    head, opening, rest = text.strip().partition("(")
    arguments_text, arrow, returns_text = rest.rpartition(" -> ")
    match = _HEAD.match(head.strip())
    if not match or not opening or not arrow or not arguments_text.endswith(")"):
        raise SchemaError(f"not an operator schema: {text!r}; expected 'ns::name.overload(args) -> returns'")
    arguments = tuple(_parse_argument(part, text) for part in _split(arguments_text[:-1]) if part and part != "*")
    return Schema(
        namespace=match["ns"] or default_namespace,
        name=match["name"],
        overload=match["overload"] or "",
        arguments=arguments,
        returns=_count_returns(returns_text.strip()),
    )


def _parse_argument(text: str, schema: str) -> Argument:
    declaration = text.partition("=")[0].strip()
    type_text, _, name = declaration.rpartition(" ")
    match = _TYPE.match(type_text.strip())
    if not match or not name:
        raise SchemaError(f"argument {text!r} of schema {schema!r} cannot be read; expected 'Type name[=default]'")
    is_list = match["list"] is not None
    return Argument(
        name=name,
        base=_BASE_ALIASES.get(match["base"], match["base"]),
        is_list=is_list,
        is_optional=match["opt"] is not None or (not is_list and match["item_opt"] is not None),
        is_optional_item=is_list and match["item_opt"] is not None,
        is_mutated="!" in (match["alias"] or ""),
    )


def _split(text: str) -> list[str]:
    """Split at commas outside brackets: defaults such as ``[0, 1]`` contain commas."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    parts.append(text[start:].strip())
    return parts


def _count_returns(text: str) -> int:
    if text.startswith("(") and text.endswith(")"):
        return len([part for part in _split(text[1:-1]) if part])
    return 1
