# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The record of one attempt, and the file that keeps the records of a run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from enum import Enum
from pathlib import Path
from typing import Any

from test.line_file import append_line, read_complete_lines

# Suite, name, way and rule.
Key = tuple[str, str, str, str]


class Outcome(str, Enum):
    """Result of an attempt, named by the step that failed. `counted` leaves out those that are not our faults."""

    MATCHED = "matched"
    UNBUILT = "not built"  # the generic rule makes no such model
    UNEXPORTED = "not exported"  # torch.export refuses it
    UNPREPARED = "not quantized"  # torchao's quantization of the exported model fails, or eager cannot run the result
    # Eager differs as much in float64, on inputs changed in the last digit or by a millionth, with weights changed by a
    # millionth, or with stable sorts.
    UNSTABLE = "decided by rounding"
    NOT_LOWERED = "not lowered"
    NOT_RUN = "not run"
    DIFFERS = "differs"
    DIED = "died"
    TIMED_OUT = "timed out"

    @property
    def counted(self) -> bool:
        """Return whether torch.export took the model and eager's result is stable, so that the model should match."""
        return self not in (Outcome.UNBUILT, Outcome.UNEXPORTED, Outcome.UNPREPARED, Outcome.UNSTABLE)


@dataclass
class Record:
    """One attempt.

    error: largest relative difference from eager; None if it did not run. delegated: share of the estimated operations
    (FLOPs) that delegates compute, 0 to 1. left: kernel → calls outside of delegates. *_cpu_seconds: processor time,
    which other work on the machine hardly changes; attempt_*: all of it, with making the model. peer: the outcome,
    delegates and lowering time of the peer on the same exported program, if it was compared. rule: the rule that made
    the model small and its seed; empty for the first rule with seed 0.
    """

    suite: str
    name: str
    way: str
    outcome: Outcome
    message: str = ""
    parameters: int = 0
    error: float | None = None
    delegates: int = 0
    delegated: float | None = None
    left: dict[str, int] = field(default_factory=dict)
    export_cpu_seconds: float = 0.0
    lower_cpu_seconds: float = 0.0
    attempt_cpu_seconds: float = 0.0
    file_bytes: int = 0
    reproduction: str = ""
    peer: dict[str, Any] | None = None
    rule: str = ""

    @property
    def key(self) -> Key:
        return self.suite, self.name, self.way, self.rule

    def as_line(self) -> str:
        """One line of JSON, without fields that have their default."""
        unset = asdict(Record(self.suite, self.name, self.way, self.outcome))
        changed = {name: _short(value) for name, value in asdict(self).items() if value != unset[name]}
        named = {"suite": self.suite, "name": self.name, "way": self.way, "outcome": self.outcome.value}
        return json.dumps(named | changed, ensure_ascii=False)

    @staticmethod
    def of_line(line: str) -> Record:
        values = json.loads(line)
        known = {one.name for one in fields(Record)}
        return Record(
            **{name: values[name] for name in values if name in known} | {"outcome": Outcome(values["outcome"])}
        )


def _short(value: Any) -> Any:
    """Return a number with three significant digits, anything else as it is."""
    return float(f"{value:.3g}") if isinstance(value, float) else value


class Records:
    """Records in a file of JSON lines, which an interrupted run continues."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._records: dict[Key, Record] = {}
        for line in read_complete_lines(path):
            try:
                self._keep(Record.of_line(line))
            except (ValueError, KeyError, TypeError):
                continue  # earlier versions appended a record to a line that was cut off; its attempt is made again

    def _keep(self, record: Record) -> None:
        self._records[record.key] = record

    def __contains__(self, key: Key) -> bool:
        return key in self._records

    def __iter__(self) -> Iterator[Record]:
        return iter(sorted(self._records.values(), key=lambda one: one.key))

    def __len__(self) -> int:
        return len(self._records)

    def add(self, record: Record) -> None:
        self._keep(record)
        append_line(self.path, record.as_line())

    def rewrite(self) -> None:
        """Write one line a record, sorted by suite, name and way."""
        self.path.write_text("".join(one.as_line() + "\n" for one in self))
