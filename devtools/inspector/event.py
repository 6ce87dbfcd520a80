# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Event: the times of an operator or runtime step in all runs of a block, with its sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

MetadataParser = Callable[[list[Any]], Any]


class PerfData:
    """Durations of each run, in the Inspector's target unit."""

    def __init__(self, raw: Sequence[float]) -> None:
        self.raw = list(raw)

    @cached_property
    def _percentiles(self) -> tuple[float, float, float]:
        p10, p50, p90 = np.percentile(self.raw, (10, 50, 90)).tolist()
        return p10, p50, p90

    @property
    def p10(self) -> float:
        """The 10th percentile of the times."""
        return self._percentiles[0]

    @property
    def p50(self) -> float:
        """The median of the times."""
        return self._percentiles[1]

    @property
    def p90(self) -> float:
        """The 90th percentile of the times."""
        return self._percentiles[2]

    @property
    def avg(self) -> float:
        """The mean of the times."""
        return float(np.mean(self.raw))

    @property
    def min(self) -> float:
        """The shortest time."""
        return min(self.raw)

    @property
    def max(self) -> float:
        """The longest time."""
        return max(self.raw)


@dataclass
class Event:
    """A call of an operator or delegate, an operator inside a delegate, or a step of the runtime.

    name: of the event; inside a delegate, its identifier. delegate_debug_identifier: number or text that the delegate
    gave. debug_handles, op_types, stack_traces, module_hierarchy (by node name): of the exported program's nodes that
    it runs, with a record. num_outputs: of a delegate call. debug_data: recorded values that it computed. start_time:
    of each run, in ticks.
    """

    name: str
    perf_data: PerfData | None = None
    op_types: list[str] = field(default_factory=list)
    delegate_debug_identifier: int | str | None = None
    debug_handles: int | Sequence[int] | None = None
    num_outputs: int = 1
    stack_traces: dict[str, str | None] = field(default_factory=dict)
    module_hierarchy: dict[str, Any] = field(default_factory=dict)
    is_delegated_op: bool | None = None
    delegate_backend_name: str | None = None
    _delegate_debug_metadatas: list[Any] = field(default_factory=list)
    debug_data: list[Any] = field(default_factory=list)
    _instruction_id: int | None = None
    _delegate_metadata_parser: MetadataParser | None = None
    _start_time: list[int] | None = None
    # One for each entry of op_types.
    _nodes: list[str] = field(default_factory=list)

    @cached_property
    def delegate_debug_metadatas(self) -> Any:
        """Metadata from the delegate for each run, parsed if there is a parser."""
        if not self.is_delegated_op or self._delegate_metadata_parser is None:
            return self._delegate_debug_metadatas
        return self._delegate_metadata_parser(self._delegate_debug_metadatas)

    @property
    def raw_delegate_debug_metadatas(self) -> list[Any]:
        """The delegate's metadata of each call as the trace has it, before a parser changes it."""
        return self._delegate_debug_metadatas

    @property
    def start_time(self) -> list[int] | None:
        """Start of each call in the trace's unit; None if the trace has no times."""
        return self._start_time

    def asdict(self, _units: str = "") -> dict[str, Any]:
        """The event as a table row. `_units` is appended to the names of time columns."""
        times = {
            name + _units: getattr(self.perf_data, name) if self.perf_data else None
            for name in ("p10", "p50", "p90", "avg", "min", "max")
        }
        return {
            "event_name": self.name,
            "raw": self.perf_data.raw if self.perf_data else None,
            **times,
            "op_types": self.op_types if len(self.op_types) < 5 else _shortened(self.op_types),
            "delegate_debug_identifier": self.delegate_debug_identifier,
            "stack_traces": self.stack_traces,
            "module_hierarchy": self.module_hierarchy,
            "is_delegated_op": self.is_delegated_op,
            "delegate_backend_name": self.delegate_backend_name,
            "debug_data": self.debug_data,
            "start_time": self._start_time,
        }

    def to_dataframe(self, _units: str = "") -> pd.DataFrame:
        """The event as a table of one row."""
        import pandas as pd

        return pd.DataFrame([self.asdict(_units)])


def _shortened(names: list[str]) -> str:
    return f"['{names[0]}', '{names[1]}' ... '{names[-1]}'] ({len(names)} total)"
