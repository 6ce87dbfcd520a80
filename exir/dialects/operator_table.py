# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operators and their combinations of dtypes: one table for the verifier, the passes and the target check.

`edge_operators.json` lists the kernels of this project; a target manifest has the same form:

    {"dtypes": {"floats": "float32 float64", …},
     "operators": {"aten::add.out": {"takes": ["T T -> T: bool ints floats", …], "promotes": ["self", "other"]}, …}}

A row of `takes` has a word for each tensor argument of the out variant, in the schema's order, `->`, and a word for
each output. A list of tensors has one word. Words:
- `T`, `U`: a dtype of the set after the colon (the set of `U` follows after `/`);
- `T+U`: the dtype to which PyTorch promotes both;
- `?`: any dtype; any other word: this dtype.
An absent argument matches every word. Without `takes`, the operator accepts every dtype.
`promotes`: arguments that the operator converts to one dtype before it computes; PromoteDtypesPass converts them in
the graph. `layouts`: "contiguous" for a kernel that accepts no other dim order.
A manifest may list the target's `"backends": ["XnnpackBackend", …]`, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TypedDict

import torch

EDGE_OPERATORS = Path(__file__).with_name("edge_operators.json")

# The dtypes of each tensor argument: several for a list of tensors, none for an absent one.
CallDtypes = tuple[frozenset[torch.dtype], ...]


@cache
def promoted(one: torch.dtype, other: torch.dtype) -> torch.dtype | None:
    """Return the dtype to which PyTorch promotes both, or None if it cannot (some unsigned integers)."""
    try:
        return torch.promote_types(one, other)
    except RuntimeError:
        return None


@dataclass(frozen=True)
class DtypeRow:
    """One row of `takes`. words: of arguments, then of outputs. sets: variable → its dtypes."""

    text: str
    words: tuple[str, ...]
    outputs: int
    sets: Mapping[str, frozenset[torch.dtype]]

    @staticmethod
    def parse(text: str, named: Mapping[str, str]) -> DtypeRow:
        """Parse a row. Raises ValueError for other text."""
        pattern, _, ranges = text.partition(":")
        inputs, arrow, outputs = pattern.partition("->")
        if not arrow:
            raise ValueError(f"dtypes of an operator: expected 'T T -> T: float32 …', found {text!r}")
        sets = {variable: _dtypes(part, named) for variable, part in zip("TU", ranges.split("/"), strict=False)}
        return DtypeRow(text, (*inputs.split(), *outputs.split()), len(outputs.split()), sets)

    def fits(self, call: CallDtypes) -> bool:
        """Return whether the row allows these dtypes. `call` may be a prefix of arguments and outputs."""
        bound: dict[str, torch.dtype] = {}
        pairs = zip(self.words, call, strict=False)
        return all(self._bind(word, dtype, bound) for word, dtypes in pairs for dtype in dtypes)

    def _bind(self, word: str, dtype: torch.dtype, bound: dict[str, torch.dtype]) -> bool:
        if word in self.sets:
            return dtype in self.sets[word] and bound.setdefault(word, dtype) is dtype
        if word == "?":
            return True
        if word == "T+U":
            return "T" not in bound or "U" not in bound or promoted(bound["T"], bound["U"]) is dtype
        return dtype is _dtype(word)

    def dtypes_of(self, position: int) -> frozenset[torch.dtype]:
        """Return the dtypes of one position; empty for `?` and `T+U`."""
        word = self.words[position]
        if word in ("?", "T+U"):
            return frozenset()
        return self.sets[word] if word in self.sets else frozenset({_dtype(word)})


def _dtypes(words: str, named: Mapping[str, str]) -> frozenset[torch.dtype]:
    """Parse names of dtypes, and of sets of dtypes."""
    return frozenset(_dtype(name) for word in words.split() for name in named.get(word, word).split())


def _dtype(name: str) -> torch.dtype:
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"dtypes of an operator: expected the name of a dtype or of a set, found {name!r}")
    return dtype


@dataclass(frozen=True, eq=False)
class Operator:
    """An entry of the table.

    rows: None if the table has no dtypes for it. promotes: names of arguments. any_layout: accepts every dim order.
    """

    name: str
    rows: tuple[DtypeRow, ...] | None = None
    promotes: tuple[str, ...] = ()
    any_layout: bool = True

    def takes(self, call: CallDtypes) -> bool:
        """Return whether a row of dtypes allows the call; an operator without rows allows all."""
        return self.rows is None or any(row.fits(call) for row in self.rows)

    def misfit(self, call: CallDtypes) -> int | None:
        """Return the first position whose dtype no row allows after the positions before it; None if a row fits."""
        if self.takes(call):
            return None
        return next(end - 1 for end in range(1, len(call) + 1) if not self.takes(call[:end]))

    def taken_at(self, position: int, call: CallDtypes) -> list[torch.dtype]:
        """Return the dtypes that a position may have, given those before it."""
        choices = {dtype for row in self.rows or () if row.fits(call[:position]) for dtype in row.dtypes_of(position)}
        fitting = [d for d in choices if self.takes((*call[:position], frozenset({d})))]
        return sorted(
            fitting, key=lambda dtype: (dtype.is_floating_point, dtype.is_complex, dtype.itemsize, str(dtype))
        )


class _Entry(TypedDict, total=False):
    """An operator in a table's file. takes: rows of dtypes. promotes: names of arguments. layouts: "contiguous"."""

    takes: list[str]
    promotes: list[str]
    layouts: str


@dataclass(frozen=True, eq=False)
class OperatorTable:
    """Operators by kernel name (`aten::add.out`).

    source: origin of the table, for error messages. is_complete: the target has no other kernels.
    backends: None if the table does not list them.
    """

    source: str
    names: frozenset[str]
    _entries: Mapping[str, _Entry] = field(default_factory=dict)
    _dtype_sets: Mapping[str, str] = field(default_factory=dict)
    is_complete: bool = True
    backends: frozenset[str] | None = None

    @staticmethod
    def read(path: Path | str) -> OperatorTable:
        """Read a table or manifest. Raises ValueError for a file of another form."""
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        if not isinstance(data, dict) or not isinstance(data.get("operators"), dict):
            raise ValueError(f"{path}: expected a table {{'operators': {{name: …}}}}, found {type(data).__name__}")
        backends = data.get("backends")
        return OperatorTable(
            str(path),
            frozenset(data["operators"]),
            data["operators"],
            data.get("dtypes", {}),
            backends=None if backends is None else frozenset(backends),
        )

    @staticmethod
    def of_names(names: Sequence[str], source: str) -> OperatorTable:
        """Return a table of operators that accept every dtype."""
        return OperatorTable(source, frozenset(names))

    def with_names(self, names: Sequence[str], source: str) -> OperatorTable:
        """Return the table with more operators of unknown dtypes, marked as incomplete: programs may link others."""
        return OperatorTable(source, self.names.union(names), self._entries, self._dtype_sets, is_complete=False)

    @cached_property
    def _operators(self) -> dict[str, Operator]:
        return {}

    def find(self, name: str) -> Operator | None:
        """Return the operator with this name, or None."""
        if name not in self.names:
            return None
        if name not in self._operators:
            entry = self._entries.get(name, {})
            rows = entry.get("takes")
            self._operators[name] = Operator(
                name,
                None if rows is None else tuple(DtypeRow.parse(row, self._dtype_sets) for row in rows),
                tuple(entry.get("promotes", ())),
                entry.get("layouts") != "contiguous",
            )
        return self._operators[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.names))


@cache
def edge_operators() -> OperatorTable:
    """Return the table of this project's kernels."""
    return OperatorTable.read(EDGE_OPERATORS)
