# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""EventBlock: all runs with the same sequence of events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from executorch.devtools.etdump.schema_flatcc import DebugEvent
from executorch.devtools.etdump.trace import ProfileColumns, Run, Trace
from executorch.devtools.inspector.event import Event, MetadataParser, PerfData
from executorch.devtools.inspector.time_scale import TimeScale, scale_factor

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

TimeConverter = Callable[[int | str, int | float], int | float]
# (instruction, delegate's number, delegate's text): the key that joins recorded values with times.
_Place = tuple[int, int, str | None]
_WRAP = 2**32


@dataclass
class EventBlock:
    """Events that occurred in the same order in one or more runs (method loads or executions).

    bundled_input_index: the test case. run_output: recorded outputs of the first run. reference_output: expected
    outputs from the record.
    """

    name: str
    events: list[Event] = field(default_factory=list)
    source_time_scale: TimeScale = TimeScale.NS
    target_time_scale: TimeScale = TimeScale.MS
    bundled_input_index: int | None = None
    run_output: list[Any] | None = None
    reference_output: Any = None

    def to_dataframe(self, include_units: bool = False, include_delegate_debug_data: bool = False) -> pd.DataFrame:
        """A table with a row for each event.

        Args:
            include_units: append the unit to the names of time columns.
            include_delegate_debug_data: add metadata from delegates: one column, or one for each key if parsed.
        """
        import pandas as pd

        units = f" ({self.target_time_scale.value})" if include_units else ""
        rows = []
        for event in self.events:
            row = {"event_block_name": self.name, **event.asdict(units)}
            if include_delegate_debug_data and event.delegate_debug_metadatas:
                metadata = event.delegate_debug_metadatas
                row |= metadata if isinstance(metadata, dict) else {"delegate_debug_metadata": metadata}
            rows.append(row)
        return pd.DataFrame(rows)


@dataclass(frozen=True)
class BlockSettings:
    """Conversion of a trace's times and values."""

    source: TimeScale
    target: TimeScale
    inflate: Callable[[Any], Any]
    metadata_parser: MetadataParser | None = None
    time_converter: TimeConverter | None = None


def blocks_of(trace: Trace, settings: BlockSettings) -> list[EventBlock]:
    """Group the trace's runs with equal name, test case and events into blocks."""
    groups: dict[Any, list[Run]] = {}
    for run in trace.runs:
        groups.setdefault(_signature(run), []).append(run)
    return [_block(trace, runs, settings) for runs in groups.values()]


def _signature(run: Run) -> Any:
    profile = run.profile
    columns = (profile.name, profile.instruction, profile.delegate_number, profile.delegate_text)
    values = tuple((*_place(debug), _is_output(debug)) for debug in run.debug)
    return (run.name, run.bundled_input_index, *(column.tobytes() for column in columns), values)


def _place(event: DebugEvent) -> _Place:
    return (event.instruction_id, event.delegate_debug_id_int, event.delegate_debug_id_str)


def _is_output(event: DebugEvent) -> bool:
    return event.debug_entry is not None and event.debug_entry.output is not None


def _block(trace: Trace, runs: list[Run], settings: BlockSettings) -> EventBlock:
    first = runs[0]
    values: dict[_Place, list[Any]] = {}
    outputs = []
    for debug in first.debug:
        if debug.debug_entry is None:
            continue
        if _is_output(debug):
            outputs.append(settings.inflate(debug.debug_entry))
        else:
            values.setdefault(_place(debug), []).append(settings.inflate(debug.debug_entry))
    starts, ends = (np.stack([getattr(run.profile, side) for run in runs], axis=1) for side in ("start", "end"))
    events = [_event(trace, runs, index, settings, starts[index], ends[index]) for index in range(len(first.profile))]
    places = [_profile_place(trace, first.profile, index) for index in range(len(first.profile))]
    for event, place in zip(events, places, strict=True):
        event.debug_data = values.get(place, [])
    # Values without a timed event.
    timed = set(places)
    events += [_named(Event(""), place, data) for place, data in values.items() if place not in timed]
    block = EventBlock(first.name, events, settings.source, settings.target, first.bundled_input_index)
    block.run_output = outputs
    return block


def _profile_place(trace: Trace, profile: ProfileColumns, index: int) -> _Place:
    text = int(profile.delegate_text[index])
    number = int(profile.delegate_number[index])
    return (int(profile.instruction[index]), number, trace.texts[text] if text >= 0 else None)


def _named(event: Event, place: _Place, data: list[Any]) -> Event:
    instruction, number, text = place
    event._instruction_id = instruction if instruction >= 0 else None
    event.delegate_debug_identifier = text or (number if number >= 0 else None)
    event.is_delegated_op = event.delegate_debug_identifier is not None
    if event.is_delegated_op:
        event.name = str(event.delegate_debug_identifier)
    event.debug_data = data
    return event


def _event(
    trace: Trace,
    runs: list[Run],
    index: int,
    settings: BlockSettings,
    start: npt.NDArray[np.uint64],
    end: npt.NDArray[np.uint64],
) -> Event:
    name = int(runs[0].profile.name[index])
    event = _named(Event(trace.texts[name] if name >= 0 else ""), _profile_place(trace, runs[0].profile, index), [])
    if event.is_delegated_op and settings.time_converter is not None:
        convert = settings.time_converter
        raw = [
            float(convert(event.name, int(last)) - convert(event.name, int(begin)))
            for begin, last in zip(start, end, strict=True)
        ]
    else:
        raw = (_elapsed(start, end, event.name) / scale_factor(settings.source, settings.target)).tolist()
    event.perf_data = PerfData(raw)
    event._start_time = start.tolist()
    metadata = [run.profile.metadata[index] for run in runs]
    event._delegate_debug_metadatas = [entry or "" for entry in metadata] if any(metadata) else []
    event._delegate_metadata_parser = settings.metadata_parser
    return event


def _elapsed(start: npt.NDArray[np.uint64], end: npt.NDArray[np.uint64], name: str) -> npt.NDArray[np.float64]:
    """Ticks from start to end. A 32-bit clock may have wrapped around once."""
    backwards = start > end
    if (np.maximum(start, end)[backwards] >= _WRAP).any():
        raise ValueError(f"event '{name}' ends before it starts, and its clock has more than 32 bits")
    return np.where(backwards, end + np.uint64(_WRAP) - start, end - start).astype(np.float64)
