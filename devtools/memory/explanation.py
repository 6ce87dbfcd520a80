# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Data model of a memory explanation, with tables and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tabulate import tabulate

from executorch.exir.memory.plan import PlannedTensor


@dataclass(frozen=True)
class ArenaUse:
    """One planned arena.

    nbytes: size. alive: bytes in use at each step, shared bytes counted once. peak_step: first step with the maximum.
    at_peak: live tensors at that step, largest first. lower_bound: minimum size of any plan; None if only the file is
    known.
    """

    mem_id: int
    nbytes: int
    alive: tuple[int, ...]
    peak_step: int
    at_peak: tuple[PlannedTensor, ...]
    lower_bound: int | None

    @property
    def peak(self) -> int:
        """Maximum of the bytes in use at one step."""
        return self.alive[self.peak_step] if self.alive else 0


@dataclass(frozen=True)
class Figure:
    """Bytes of one kind, predicted from the program and measured in a run; None: unknown, `note` says why."""

    what: str
    predicted: int | None
    measured: int | None
    note: str = ""


@dataclass(frozen=True)
class MethodMemory:
    """One method. figures: planned arenas, method allocator, temporary memory, delegates' scratch and packed weights.
    steps: "step" of the plan, or "instruction" if only the file is known.
    """

    name: str
    steps: str
    arenas: tuple[ArenaUse, ...]
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class MemoryExplanation:
    """Memory of a program.

    constants: bytes shared by all methods. by_module: module path → bytes of these and of the constants in delegates'
    payloads; "" for unnamed ones. named_data: bytes that delegates store in the file by name. payloads: bytes of the
    delegates' programs.
    """

    file: int
    constants: int
    named_data: int
    payloads: int
    by_module: dict[str, int]
    methods: dict[str, MethodMemory]

    def as_dict(self) -> dict[str, Any]:
        """Return numbers, strings, lists and dicts."""
        return asdict(self)

    def to_json(self) -> str:
        """Return everything as JSON."""
        return json.dumps(self.as_dict(), indent=1)

    def table(self, most: int = 10) -> str:
        """Return tables as text, with the `most` largest modules and tensors."""
        whole = [
            ("constants, once for all methods", self.constants),
            ("named data of delegates", self.named_data),
            ("payloads of delegates", self.payloads),
            ("file", self.file),
        ]
        parts = [tabulate(whole, headers=("whole program", "bytes"))]
        if self.by_module:
            modules = sorted(self.by_module.items(), key=lambda item: -item[1])
            rows = [(name or "(no name)", size) for name, size in modules]
            parts.append(_listed(rows, ("constants of module", "bytes"), most))
        for method in self.methods.values():
            parts += _method_tables(method, most)
        return "\n\n".join(parts)

    def __str__(self) -> str:
        return self.table()


def _method_tables(method: MethodMemory, max_rows: int) -> Iterable[str]:
    figures = [(row.what, _text(row.predicted), _text(row.measured), row.note) for row in method.figures]
    yield tabulate(figures, headers=(f"method {method.name}", "predicted", "measured", ""), colalign=_NUMBERS)
    for arena in method.arenas:
        bound = "" if arena.lower_bound is None else f", lower bound {arena.lower_bound}"
        yield (
            f"arena {arena.mem_id} of {method.name}: {arena.nbytes} bytes{bound}; most at {method.steps} "
            f"{arena.peak_step} of {len(arena.alive)}: {arena.peak} bytes\n{_sparkline(arena.alive)}"
        )
        rows = [
            (tensor.size, f"{tensor.dtype}{list(tensor.shape)}", tensor.operator, tensor.name, tensor.module)
            for tensor in arena.at_peak
        ]
        yield _listed(rows, ("bytes", "alive at the peak", "operator", "name", "module"), max_rows)


_NUMBERS = ("left", "right", "right", "left")


def _listed(rows: Sequence[tuple[Any, ...]], headers: tuple[str, ...], max_rows: int) -> str:
    more = f"\nand {len(rows) - max_rows} smaller ones" if len(rows) > max_rows else ""
    return tabulate(rows[:max_rows], headers=headers) + more


def _text(value: int | None) -> str:
    return "-" if value is None else str(value)


def _sparkline(values: Sequence[int], width: int = 72) -> str:
    """Draw the values over time in one line: each column shows the maximum of its steps."""
    if not values or not max(values):
        return ""
    columns = min(width, len(values))
    largest = [
        max(values[index * len(values) // columns : (index + 1) * len(values) // columns]) for index in range(columns)
    ]
    return "".join(" ▁▂▃▄▅▆▇█"[-(-8 * value // max(values))] for value in largest)
