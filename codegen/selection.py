# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Selection: the operators and dtypes of a selective build."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from executorch.codegen.dtypes import SCALAR_TYPE_CODES
from executorch.codegen.library_yaml import operator_names
from executorch.codegen.located_yaml import CodegenError, Located, read_located
from executorch.codegen.program_use import read_program_use
from executorch.codegen.schema import qualified

_KEYS = ("include_all_operators", "operators", "dtypes")
_OPERATOR_KEYS = ("is_root_operator", "include_all_dtypes", "dtypes")
_EVERY_DTYPE = frozenset(SCALAR_TYPE_CODES)


@dataclass(frozen=True)
class Selection:
    """Operators to register, by qualified name (``aten::add.out``).

    operators: name → whether it was requested by name. Other operators come from programs and may belong to another
        library.
    include_all: register every operator of the libraries, regardless of ``operators``.
    dtypes: dtypes of the programs and of requests, by torch's names; empty without any.
    operator_dtypes: operator → the only dtypes that it needs. Operators that are absent need all of ``dtypes``,
        or every dtype if there are none.
    all_dtypes: operators that support every dtype, also those outside of ``dtypes``.
    """

    operators: dict[str, bool] = field(default_factory=dict)
    include_all: bool = False
    dtypes: frozenset[str] = frozenset()
    operator_dtypes: dict[str, frozenset[str]] = field(default_factory=dict)
    all_dtypes: frozenset[str] = frozenset()

    @property
    def compiled_dtypes(self) -> frozenset[str]:
        """Dtypes that at least one operator supports."""
        return _EVERY_DTYPE if self.all_dtypes else self.dtypes

    def dtypes_of(self, operator: str) -> frozenset[str]:
        """Dtypes for which an operator is compiled."""
        if operator in self.all_dtypes:
            return _EVERY_DTYPE
        # Without any dtypes, nothing limits the other operators.
        known = self.dtypes or self.compiled_dtypes
        return known if self.include_all else self.operator_dtypes.get(operator, known)

    def save(self, path: Path) -> None:
        """Write the yaml that ``load`` reads, unless the file is up to date."""
        text = self.to_yaml()
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def to_yaml(self) -> str:
        """Return the contents of ``selected_operators.yaml``."""
        document = {
            "include_all_operators": self.include_all,
            "operators": {name: self._facts(name) for name in sorted(self.operators)},
            "dtypes": _in_order(self.dtypes),
        }
        return yaml.safe_dump(document, sort_keys=False)

    def _facts(self, operator: str) -> dict[str, bool | list[str]]:
        facts: dict[str, bool | list[str]] = {"is_root_operator": self.operators[operator]}
        if operator in self.all_dtypes:
            facts["include_all_dtypes"] = True
        elif operator in self.operator_dtypes:
            facts["dtypes"] = _in_order(self.operator_dtypes[operator])
        return facts

    @staticmethod
    def load(path: Path) -> Selection:
        """Read a ``selected_operators.yaml``. Raises ``CodegenError``."""
        entries = read_located(path).mapping("the selection", _KEYS)
        operators = entries["operators"].mapping("operators") if "operators" in entries else {}
        named: dict[str, bool] = {}
        limited: dict[str, frozenset[str]] = {}
        unlimited: set[str] = set()
        for name, value in operators.items():
            facts = value.mapping(f"operator {name}", _OPERATOR_KEYS)
            named[name] = _flag(facts, "is_root_operator", default=True)
            if _flag(facts, "include_all_dtypes"):
                unlimited.add(name)
            elif "dtypes" in facts:
                limited[name] = _read_dtypes(facts)
        include_all = _flag(entries, "include_all_operators")
        return Selection(named, include_all, _read_dtypes(entries), limited, frozenset(unlimited))


def _flag(entries: Mapping[str, Located], key: str, *, default: bool = False) -> bool:
    return entries[key].boolean(key) if key in entries else default


def _in_order(dtypes: Iterable[str]) -> list[str]:
    return sorted(dtypes, key=SCALAR_TYPE_CODES.__getitem__)


def _read_dtypes(entries: Mapping[str, Located]) -> frozenset[str]:
    if "dtypes" not in entries:
        return frozenset()
    dtypes = [item.text("a dtype's name") for item in entries["dtypes"].items("dtypes")]
    for dtype in dtypes:
        if dtype not in SCALAR_TYPE_CODES:
            raise entries["dtypes"].error(f"unknown dtype {dtype!r}; known: {', '.join(SCALAR_TYPE_CODES)}")
    return frozenset(dtypes)


def select_operators(
    operators: Iterable[str] = (),
    yaml_paths: Iterable[Path] = (),
    program_paths: Iterable[Path] = (),
    *,
    include_all: bool = False,
    operator_dtypes: Mapping[str, frozenset[str]] | None = None,
) -> Selection:
    """Return the union of all requested operators.

    Args:
        operators: names such as ``aten::add.out`` (``aten::`` is optional).
        yaml_paths: operator lists in the format of a kernel library's yaml (``- func:`` and ``- op:`` entries), or
            saved selections (``selected_operators.yaml``).
        program_paths: ``.pte`` files: operators and dtypes of all methods, without delegates.
        include_all: select every operator of the libraries.
        operator_dtypes: operators requested by name → their dtypes; an empty set selects every dtype.

    Raises:
        CodegenError: for an unreadable file, or an empty request.
    """
    programs = [read_program_use(path) for path in program_paths]
    parts = [
        Selection(dict.fromkeys(program.operators, False), False, program.dtypes, dict(program.operators))
        for program in programs
    ]
    for path in yaml_paths:
        is_selection = isinstance(read_located(path).value, dict)
        parts.append(Selection.load(path) if is_selection else Selection(dict.fromkeys(operator_names(path), True)))
    parts += [_request(name, dtypes) for name, dtypes in (operator_dtypes or {}).items()]
    parts.append(Selection({qualified(name.strip()): True for name in operators if name.strip()}, include_all))
    selection = _union(parts)
    if not selection.operators and not selection.include_all and not programs:
        raise CodegenError("the selection is empty: expected operators, a yaml, a program, or all operators")
    return selection


def _request(operator: str, dtypes: frozenset[str]) -> Selection:
    """Select one operator for certain dtypes, or for every dtype if there are none."""
    if not dtypes:
        return Selection({operator: True}, all_dtypes=frozenset({operator}))
    return Selection({operator: True}, dtypes=dtypes, operator_dtypes={operator: dtypes})


def _union(parts: Sequence[Selection]) -> Selection:
    """Select what any of the parts selects. An operator's dtypes are limited if every part that has it limits them."""
    operators: dict[str, bool] = {}
    limited: dict[str, frozenset[str]] = {}
    unlimited: set[str] = set()
    for part in parts:
        for name, is_named in part.operators.items():
            operators[name] = is_named or operators.get(name, False)
            if name in part.operator_dtypes:
                limited[name] = limited.get(name, frozenset()) | part.operator_dtypes[name]
            else:
                unlimited.add(name)
    return Selection(
        operators,
        any(part.include_all for part in parts),
        frozenset().union(*(part.dtypes for part in parts)),
        {name: dtypes for name, dtypes in limited.items() if name not in unlimited},
        frozenset().union(*(part.all_dtypes for part in parts)),
    )
