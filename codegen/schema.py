# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operator schemas as torch prints them, read into values.

The grammar is the function-schema language of PyTorch (``aten/src/ATen/native/README.md`` there):
``ns::name.overload(Type arg=default, *, Type arg, Tensor(a!) out) -> Tensor(a!)``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


class SchemaError(ValueError):
    """A schema string that cannot be read; the message quotes the string and the place."""


@dataclass(frozen=True)
class Argument:
    """One argument: ``base`` is the element type (``Tensor``, ``int``, …) without list and optional marks."""

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
        """``aten::add.out``: the name programs and the registry use."""
        return f"{self.namespace}::{self.name}" + (f".{self.overload}" if self.overload else "")

    @property
    def function_name(self) -> str:
        """``add_out``: the C++ function's name, which follows from the operator's by rule."""
        return self.name + (f"_{self.overload.lower()}" if self.overload else "")

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """The arguments that the operator writes."""
        return tuple(a for a in self.arguments if a.is_mutated)


def qualified(name: str) -> str:
    """``add.out`` → ``aten::add.out``; a name with its namespace stays as it is."""
    return name if "::" in name else f"aten::{name}"


_HEAD = re.compile(r"^(?:(?P<ns>\w+)::)?(?P<name>\w+)(?:\.(?P<overload>\w+))?$")
_TYPE = re.compile(r"^(?P<base>\w+)(?:\((?P<alias>[^)]*)\))?(?P<item_opt>\?)?(?P<list>\[\d*\])?(?P<opt>\?)?$")
# Names that differ in a schema and mean the same to a kernel.
_BASE_ALIASES = {"SymInt": "int", "SymFloat": "float", "SymBool": "bool", "Generator": "Generator"}


def parse_schema(text: str, default_namespace: str = "aten") -> Schema:
    """Reads one schema string. Raises ``SchemaError`` that quotes what could not be read."""
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
    """Splits at commas that stand outside of brackets (defaults such as ``[0, 1]`` hold commas)."""
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
