# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Yaml with the source line of every value, for error messages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

# Use libyaml's faster loader if PyYAML has it: a library's table has hundreds of rows.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class CodegenError(ValueError):
    """Invalid input of code generation; the message names file, line, expected and found."""


@dataclass(frozen=True)
class Located:
    """A yaml value with its place (``file:line``). Items of lists and mappings are ``Located`` too."""

    value: Any
    place: str

    def error(self, text: str) -> CodegenError:
        """Create an error at this place."""
        return CodegenError(f"{self.place}: {text}")

    def text(self, what: str) -> str:
        """Return the value, which must be a string."""
        if not isinstance(self.value, str):
            raise self.error(f"expected {what}, found {self._describe()}")
        return self.value

    def boolean(self, what: str) -> bool:
        """Return the value, which must be a bool."""
        if not isinstance(self.value, bool):
            raise self.error(f"expected {what} (true or false), found {self._describe()}")
        return self.value

    def items(self, what: str) -> list[Located]:
        """Return the items of the value, which must be a list; null counts as an empty list."""
        if self.value is None:
            return []
        if not isinstance(self.value, list):
            raise self.error(f"expected a list of {what}, found {self._describe()}")
        return self.value

    def mapping(self, what: str, known: Iterable[str] | None = None) -> dict[str, Located]:
        """Return the entries of the value, a mapping with only ``known`` keys; null counts as an empty mapping."""
        if self.value is None:
            return {}
        if not isinstance(self.value, dict):
            raise self.error(f"expected {what}, found {self._describe()}")
        for key, value in self.value.items():
            if known is not None and key not in known:
                raise value.error(f"unknown key {key!r} of {what}; known: {', '.join(sorted(known))}")
        return self.value

    def _describe(self) -> str:
        kind = {dict: "a mapping", list: "a list", type(None): "nothing"}.get(type(self.value))
        return kind or f"{self.value!r}"


def read_located(path: Path) -> Located:
    """Load a yaml file. Raises ``CodegenError`` for a missing file or invalid yaml."""
    try:
        loader = _Loader(path.read_text())
        node = loader.get_single_node()
        if node is None:
            return Located(None, f"{path}:1")
        return _located(node, loader, path)
    except yaml.MarkedYAMLError as e:
        line = e.problem_mark.line + 1 if e.problem_mark else 1
        raise CodegenError(f"{path}:{line}: not yaml: {e.problem}") from e
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as e:
        raise CodegenError(f"{path}: cannot be read: {e}") from e


def _located(node: yaml.Node, loader: Any, path: Path) -> Located:
    place = f"{path}:{node.start_mark.line + 1}"
    if isinstance(node, yaml.MappingNode):
        entries: dict[str, Located] = {}
        for key_node, value_node in node.value:
            key = loader.construct_object(key_node, deep=True)
            where = f"{path}:{key_node.start_mark.line + 1}"
            if not isinstance(key, str):
                raise CodegenError(f"{where}: expected a name as key, found {key!r}")
            if key in entries:
                raise CodegenError(f"{where}: key {key!r} is given twice, first at {entries[key].place}")
            entries[key] = Located(_located(value_node, loader, path).value, where)
        return Located(entries, place)
    if isinstance(node, yaml.SequenceNode):
        return Located([_located(item, loader, path) for item in node.value], place)
    return Located(loader.construct_object(node, deep=True), place)
