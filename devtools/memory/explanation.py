# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Where the bytes of a program's memory go, as values; as tables and JSON too."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tabulate import tabulate

from executorch.exir.memory.plan import PlannedTensor


@dataclass(frozen=True)
class ArenaUse:
    """One planned arena. nbytes: its size. alive: bytes taken at each step, shared ones counted once. peak_step: the
    first with the most. at_peak: the tensors alive then, the largest first. lower_bound: what no plan can stay below,
    None if only the file is known."""

    mem_id: int
    nbytes: int
    alive: tuple[int, ...]
    peak_step: int
    at_peak: tuple[PlannedTensor, ...]
    lower_bound: int | None

    @property
    def peak(self) -> int:
        """The most bytes taken at one step."""
        return self.alive[self.peak_step] if self.alive else 0


@dataclass(frozen=True)
class Figure:
    """Bytes of one kind: predicted from the program, and measured in a run; None: not known, `note` says why."""

    what: str
    predicted: int | None
    measured: int | None
    note: str = ""


@dataclass(frozen=True)
class MethodMemory:
    """One method. figures: planned arenas, method allocator, temporary memory, delegates' scratch and packed weights.
    steps: "step" of the plan, or "instruction" if only the file is known."""

    name: str
    steps: str
    arenas: tuple[ArenaUse, ...]
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class MemoryExplanation:
    """constants: bytes that all methods share. by_module: of those, and of the constants in delegates' payloads, by
    the path of the module that has them; "" for those whose name is not known. named_data: bytes that delegates keep
    in the file by name. payloads: of the delegates' programs."""

    file: int
    constants: int
    named_data: int
    payloads: int
    by_module: dict[str, int]
    methods: dict[str, MethodMemory]

    def as_dict(self) -> dict[str, Any]:
        """The same as numbers, texts, lists and dicts."""
        return asdict(self)

    def to_json(self) -> str:
        """All of it as JSON."""
        return json.dumps(self.as_dict(), indent=1)

    def table(self, most: int = 10) -> str:
        """Tables for a reader; of modules and tensors the `most` largest."""
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


def _method_tables(method: MethodMemory, most: int) -> Iterable[str]:
    figures = [(row.what, _text(row.predicted), _text(row.measured), row.note) for row in method.figures]
    yield tabulate(figures, headers=(f"method {method.name}", "predicted", "measured", ""), colalign=_NUMBERS)
    for arena in method.arenas:
        bound = "" if arena.lower_bound is None else f", lower bound {arena.lower_bound}"
        yield (
            f"arena {arena.mem_id} of {method.name}: {arena.nbytes} bytes{bound}; most at {method.steps} "
            f"{arena.peak_step} of {len(arena.alive)}: {arena.peak} bytes\n{_sparkline(arena.alive)}"
        )
        rows = [
            (each.size, f"{each.dtype}{list(each.shape)}", each.operator, each.name, each.module)
            for each in arena.at_peak
        ]
        yield _listed(rows, ("bytes", "alive at the peak", "operator", "name", "module"), most)


_NUMBERS = ("left", "right", "right", "left")


def _listed(rows: Sequence[tuple[Any, ...]], headers: tuple[str, ...], most: int) -> str:
    more = f"\nand {len(rows) - most} smaller ones" if len(rows) > most else ""
    return tabulate(rows[:most], headers=headers) + more


def _text(value: int | None) -> str:
    return "-" if value is None else str(value)


def _sparkline(values: Sequence[int], width: int = 72) -> str:
    """The values over time as one line: each column is the largest of its steps."""
    if not values or not max(values):
        return ""
    columns = min(width, len(values))
    largest = [
        max(values[index * len(values) // columns : (index + 1) * len(values) // columns]) for index in range(columns)
    ]
    return "".join(" ▁▂▃▄▅▆▇█"[-(-8 * value // max(values))] for value in largest)
