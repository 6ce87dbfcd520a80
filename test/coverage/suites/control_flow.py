# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The kinds of modules with control flow and state that the tests keep in one table."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from functools import partial

from models.module_kinds import KINDS

from ..case import Case, Example, FlatOutputs
from ..rule import Rule


def cases(rule: Rule) -> Iterator[Case]:
    for name in KINDS:
        yield Case("control_flow", name.replace(" ", "_"), partial(_make, name), rule)


def _make(name: str) -> Example:
    kind = KINDS[name]
    return Example(
        FlatOutputs(deepcopy(kind.module)),
        deepcopy(kind.calls[0]),
        reproduction=f"KINDS[{name!r}] of test/models/module_kinds.py",
    )
