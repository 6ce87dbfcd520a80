# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Selection: the operators and dtypes of a selective build."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from executorch.codegen.dtypes import SCALAR_TYPE_CODES
from executorch.codegen.library_yaml import operator_names
from executorch.codegen.located_yaml import CodegenError, Located, read_located
from executorch.codegen.program_use import read_program_use
from executorch.codegen.schema import qualified

_KEYS = ("include_all_operators", "operators", "dtypes")


@dataclass(frozen=True)
class Selection:
    """Operators to register, by qualified name (``aten::add.out``).

    operators: name → whether it was requested by name. Other operators come from programs and may belong to another
        library.
    include_all: register every operator of the libraries, regardless of ``operators``.
    dtypes: dtypes of the programs, by torch's names; empty without a program.
    operator_dtypes: operator → dtypes of its tensors in the programs.
    """

    operators: dict[str, bool] = field(default_factory=dict)
    include_all: bool = False
    dtypes: frozenset[str] = frozenset()
    operator_dtypes: dict[str, frozenset[str]] = field(default_factory=dict)

    def dtypes_of(self, operator: str) -> frozenset[str]:
        """Dtypes for which an operator is compiled: those of its tensors in the programs. All dtypes of the selection
        for an operator requested by name or not selected.
        """
        if self.include_all or self.operators.get(operator, True):
            return self.dtypes
        return self.operator_dtypes.get(operator, self.dtypes)

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
        if operator in self.operator_dtypes:
            facts["dtypes"] = _in_order(self.operator_dtypes[operator])
        return facts

    @staticmethod
    def load(path: Path) -> Selection:
        """Read a ``selected_operators.yaml``. Raises ``CodegenError``."""
        entries = read_located(path).mapping("the selection", _KEYS)
        operators = entries["operators"].mapping("operators") if "operators" in entries else {}
        all_of_them = entries.get("include_all_operators")
        named, met = {}, {}
        for name, value in operators.items():
            facts = value.mapping(f"operator {name}", ("is_root_operator", "dtypes"))
            root = facts.get("is_root_operator")
            named[name] = root is None or root.boolean("is_root_operator")
            if "dtypes" in facts:
                met[name] = _read_dtypes(facts)
        include_all = all_of_them is not None and all_of_them.boolean("include_all_operators")
        return Selection(named, include_all, _read_dtypes(entries), met)


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
        operator_dtypes: operator → its dtypes; an empty set selects all dtypes.

    Raises:
        CodegenError: for an unreadable file, or an empty request.
    """
    chosen: dict[str, bool] = {}
    met: dict[str, frozenset[str]] = {}
    programs = [read_program_use(path) for path in program_paths]
    for program in programs:
        chosen.update(dict.fromkeys(program.operators, False))
        met |= {name: met.get(name, frozenset()) | dtypes for name, dtypes in program.operators.items()}
    saved_dtypes: frozenset[str] = frozenset()
    for path in yaml_paths:
        if not isinstance(read_located(path).value, dict):
            chosen.update(dict.fromkeys(operator_names(path), True))
            continue
        saved = Selection.load(path)
        chosen.update({name: named or chosen.get(name, False) for name, named in saved.operators.items()})
        met |= {name: met.get(name, frozenset()) | dtypes for name, dtypes in saved.operator_dtypes.items()}
        include_all = include_all or saved.include_all
        saved_dtypes |= saved.dtypes
    for name, dtypes in (operator_dtypes or {}).items():
        chosen[name] = chosen.get(name, False) or not dtypes
        met[name] = met.get(name, frozenset()) | (dtypes or frozenset(SCALAR_TYPE_CODES))
    chosen.update((qualified(name.strip()), True) for name in operators if name.strip())
    if not chosen and not include_all and not programs:
        raise CodegenError("the selection is empty: expected operators, a yaml, a program, or all operators")
    return Selection(chosen, include_all, saved_dtypes.union(*met.values()), met)
