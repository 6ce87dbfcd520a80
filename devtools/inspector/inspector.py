# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Inspector: tables from a trace and an ETRecord."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from typing import IO, TYPE_CHECKING, Any

from torch.export import ExportedProgram

from executorch.devtools.etdump.trace import read_trace, read_trace_file
from executorch.devtools.etrecord.generate import parse_etrecord
from executorch.devtools.etrecord.record import ETRecord
from executorch.devtools.inspector.attribution import (
    DELEGATE_CALL,
    OPERATOR_CALL,
    attribute,
    edge_program_of,
    handles_of,
    method_of,
)
from executorch.devtools.inspector.debug_values import DebugBuffer
from executorch.devtools.inspector.event import Event, MetadataParser
from executorch.devtools.inspector.event_block import BlockSettings, EventBlock, TimeConverter, blocks_of
from executorch.devtools.inspector.exported_reference import EXPORTED, comparable, exported_reference
from executorch.devtools.inspector.numeric_gap import Pair, last_pairs, pairs_of
from executorch.devtools.inspector.numerical_comparator import (
    IntermediateOutputMapping,
    L1Comparator,
    MSEComparator,
    NumericalComparatorBase,
    SNRComparator,
    checked_mapping,
)
from executorch.devtools.inspector.reference_run import Reference
from executorch.devtools.inspector.steps import STEP_KEYS, execution_of, steps_of, totals
from executorch.devtools.inspector.time_scale import TimeScale
from executorch.exir.serialize.regular_file import read_regular_file

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

_EDGE = "edge_dialect_exported_program"
_NOT_PRINTED = ["raw", "delegate_debug_identifier", "stack_traces", "module_hierarchy", "debug_data"]
_COMPARATORS: dict[str, type[NumericalComparatorBase]] = {
    "MSE": MSEComparator,
    "L1": L1Comparator,
    "SNR": SNRComparator,
}


class Inspector:
    """Reader of a trace: `event_blocks`, tables, totals by module, distances from the exported program.

    Args:
        etdump_path: the trace (`.etdp`), or `etdump_data`: its bytes.
        etrecord: the ETRecord of the export or its path; sources are unknown without it.
        source_time_scale: the unit of the trace's clock: nanoseconds by default, as the runtime's.
        target_time_scale: the unit of the tables.
        debug_buffer_path: the bytes of recorded values.
        delegate_metadata_parser: converts the metadata of a delegate's event for all runs to a list or dict.
        delegate_time_scale_converter: (event's name, time) → time in `target_time_scale`, for events inside of
            delegates with another clock.
        enable_module_hierarchy: accepted and ignored; modules of nodes are always present.
        reference_graph_name: accepted and ignored; sources are nodes of the edge program.
        method_name: method whose maps apply (an extension); by default 'forward', or the record's only method.

    `missing` lists the unreadable parts of a truncated trace, which also gives a warning. Raises ValueError unless
    exactly one of etdump_path and etdump_data is given, and if trace and record belong to different programs;
    TypeError for an etrecord of another type; MalformedProgramError for bytes that are not a trace.
    """

    def __init__(
        self,
        etdump_path: str | os.PathLike[str] | None = None,
        etdump_data: bytes | None = None,
        etrecord: ETRecord | str | os.PathLike[str] | None = None,
        source_time_scale: TimeScale = TimeScale.NS,
        target_time_scale: TimeScale = TimeScale.MS,
        debug_buffer_path: str | os.PathLike[str] | None = None,
        delegate_metadata_parser: MetadataParser | None = None,
        delegate_time_scale_converter: TimeConverter | None = None,
        enable_module_hierarchy: bool = False,
        reference_graph_name: str = "edge_dialect_graph_module",
        method_name: str | None = None,
    ) -> None:
        if (etdump_path is None) == (etdump_data is None):
            raise ValueError("expected either etdump_path or etdump_data")
        if etrecord is not None and not isinstance(etrecord, (ETRecord, str, os.PathLike)):
            raise TypeError(f"etrecord: expected an ETRecord or a path; found {type(etrecord).__name__}")
        self._etrecord = etrecord if etrecord is None or isinstance(etrecord, ETRecord) else parse_etrecord(etrecord)
        trace = read_trace(etdump_data or b"") if etdump_path is None else read_trace_file(etdump_path)
        self.missing = trace.missing
        if trace.missing:
            warnings.warn("; ".join(trace.missing), stacklevel=2)
        buffer = DebugBuffer(None if debug_buffer_path is None else read_regular_file(debug_buffer_path))
        self.event_blocks: list[EventBlock] = blocks_of(
            trace,
            BlockSettings(
                source_time_scale,
                target_time_scale,
                buffer.inflate,
                delegate_metadata_parser,
                delegate_time_scale_converter,
            ),
        )
        self._method = None if self._etrecord is None else method_of(self._etrecord, method_name)
        if self._etrecord is not None and self._method is not None:
            attribute(self.event_blocks, self._etrecord, self._method, self._edge_program())
            self._set_reference_outputs(self._etrecord, self._method)

    def _edge_program(self) -> ExportedProgram | None:
        if self._etrecord is None or self._method is None:
            return None
        return edge_program_of(self._etrecord, self._method)

    def _set_reference_outputs(self, record: ETRecord, method: str) -> None:
        cases = (record._reference_outputs or {}).get(method)
        for block in self.event_blocks:
            index = block.bundled_input_index
            if index is None and cases is not None and len(cases) == 1:
                index = 0  # runs of the only test case may lack its index
            if cases is not None and index is not None:
                if index >= len(cases):
                    raise ValueError(f"the trace ran test case {index}; the record has {len(cases)} test cases")
                block.reference_output = cases[index]

    def to_dataframe(self, include_units: bool = True, include_delegate_debug_data: bool = False) -> pd.DataFrame:
        """A table with a row for each event of all blocks; see `EventBlock.to_dataframe`."""
        import pandas as pd

        frames = [block.to_dataframe(include_units, include_delegate_debug_data) for block in self.event_blocks]
        frames = [frame for frame in frames if len(frame)]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def _printed(self, include_units: bool, include_delegate_debug_data: bool) -> pd.DataFrame:
        frame = self.to_dataframe(include_units, include_delegate_debug_data)
        if not len(frame):
            return frame
        frame = frame.drop(columns=_NOT_PRINTED)
        return frame[frame["event_name"] != OPERATOR_CALL].reset_index(drop=True)

    def print_data_tabular(
        self,
        file: IO[str] | None = None,
        include_units: bool = True,
        include_delegate_debug_data: bool = False,
    ) -> None:
        """Print the events to `file` (None: standard output), or show them in a notebook.

        Events that only enclose a kernel call are omitted.
        """
        from tabulate import tabulate

        frame = self._printed(include_units, include_delegate_debug_data)
        shell = sys.modules.get("IPython")
        if shell is not None and shell.get_ipython() is not None:
            importlib.import_module("IPython.display").display(frame)
            return
        print(tabulate(frame, headers="keys", tablefmt="fancy_grid"), file=file)

    def save_data_to_tsv(
        self, file: IO[str], include_units: bool = True, include_delegate_debug_data: bool = False
    ) -> None:
        """Write the same table separated by tabs, for spreadsheets."""
        self._printed(include_units, include_delegate_debug_data).to_csv(file, sep="\t")

    def find_total_for_module(self, module_name: str) -> float:
        """Return the average time of all operators in modules whose path contains `module_name`, in the target unit.

        A delegate with timed operators counts by its operators.
        """
        total = 0.0
        for block in self.event_blocks:
            inside = {event._instruction_id for event in block.events if event.is_delegated_op and event.debug_handles}
            for event in block.events:
                is_frame = event.name == DELEGATE_CALL and event._instruction_id in inside
                if event.name == OPERATOR_CALL or is_frame or event.perf_data is None:
                    continue
                if any(_is_within(module_name, stack) for stack in event.module_hierarchy.values()):
                    total += event.perf_data.avg
        return total

    def get_op_list(self, event_block: str, show_delegated_ops: bool = True) -> dict[str, list[Event]]:
        """Return the events of a block by the operator of the exported program that they run; needs a record.

        show_delegated_ops: include those that a delegate runs. Raises ValueError if no block has the name.
        """
        blocks = [block for block in self.event_blocks if block.name == event_block]
        if not blocks:
            names = ", ".join(block.name for block in self.event_blocks)
            raise ValueError(f"event_block: expected one of {names}; found {event_block!r}")
        events: dict[str, list[Event]] = {}
        for event in (event for block in blocks for event in block.events):
            if show_delegated_ops or not event.is_delegated_op:
                for op_type in dict.fromkeys(event.op_types):
                    events.setdefault(op_type, []).append(event)
        return events

    def statistics(self, by: str = "operator") -> pd.DataFrame:
        """Return the time of an execution by operator of the model, module, source line or call (an extension).

        by: 'operator', 'module', 'line' or 'call'. Columns: the key, calls, time (average, in the target unit),
        share, ran_as.
        Times sum up to one execution of the block with the largest total time. Raises ValueError without an execution.
        """
        import pandas as pd

        if by not in STEP_KEYS:
            raise ValueError(f"by: expected one of {sorted(STEP_KEYS)}; found {by!r}")
        entries = totals(steps_of(execution_of(self.event_blocks)), STEP_KEYS[by])
        columns = (by, "calls", "time", "share", "ran_as")
        rows = [(total.key, total.calls, total.time, total.share, list(total.ran)) for total in entries]
        return pd.DataFrame(rows, columns=columns)

    def get_exported_program(self, graph: str | None = None) -> Any:
        """Return the record's edge program or another program by name; None without a record."""
        if self._etrecord is None:
            return None
        return self._etrecord.edge_dialect_program if graph is None else (self._etrecord.graph_map or {}).get(graph)

    def _reference_program(self, name: str | None, must_match: bool) -> ExportedProgram:
        if self._etrecord is None:
            raise ValueError("calculate_numeric_gap requires an ETRecord: Inspector(etrecord=…)")
        others = self._etrecord.graph_map or {}
        edge = self._edge_program()
        if name == EXPORTED and edge is not None and self._method == "forward":
            return exported_reference(self._etrecord, edge, must_match)
        program = edge if name in (None, _EDGE) else others.get(f"{name}/forward", others.get(str(name)))
        if program is None:
            raise ValueError(f"the record has no program '{name or _EDGE}': expected one of {[_EDGE, *others]}")
        return program

    def calculate_numeric_gap(
        self,
        distance: str | NumericalComparatorBase = "MSE",
        disable_debug_handle_valdiation: bool = False,
        reference_graph: str | None = None,
    ) -> pd.DataFrame:
        """Return the distance between the runtime's and the exported program's values for each operator.

        Args:
            distance: 'MSE', 'L1', 'SNR', or a custom comparator.
            disable_debug_handle_valdiation: compare with the exported program even if parts of the edge program come
                from no node of it.
            reference_graph: 'edge_dialect_exported_program' (default), 'exported_program' (as torch.export made it,
                for `forward`), or a program of the record's `graph_map`.

        Returns: a table with aot_debug_handle, aot_ops, aot_intermediate_output, runtime_debug_handle, runtime_ops,
            runtime_intermediate_output, gap (a list), stacktraces (by operator).

        Raises: ValueError without a record, its representative inputs, recorded values or that program.
        """
        import pandas as pd

        comparator = _comparator(distance)
        comparator.inspector = comparator.inspector or self
        pairs = self._pairs_with_reference(reference_graph, not disable_debug_handle_valdiation)
        mapping: IntermediateOutputMapping = {}
        by_handles: dict[tuple[int, ...], list[Any]] = {}
        for pair in pairs:
            handle = pair.node.meta["debug_handle"]
            key = ((handle,) if isinstance(handle, int) else tuple(handle), pair.expected)
            mapping[key] = (handles_of(pair.event), pair.found)
            by_handles.setdefault(key[0], []).append(pair)
        rows = []
        for (handles, expected), (runtime_handles, found) in checked_mapping(comparator.preprocessing(mapping)).items():
            if expected is None or found is None:
                continue
            if handles not in by_handles:
                raise ValueError(f"Invalid AOT debug handle: no compared operator has {handles}")
            same = by_handles[handles]
            pair = same.pop(0) if len(same) > 1 else same[0]
            rows.append(
                {
                    "aot_debug_handle": handles,
                    "aot_ops": [pair.node.name],
                    "aot_intermediate_output": expected,
                    "runtime_ops": [pair.event.name],
                    "runtime_debug_handle": runtime_handles,
                    "runtime_intermediate_output": found,
                    "gap": comparator.distances(expected, found),
                    "stacktraces": {pair.node.name: pair.node.meta.get("stack_trace")},
                }
            )
        return pd.DataFrame(rows)

    def _pairs_with_reference(self, reference_graph: str | None, validate_handles: bool) -> list[Pair]:
        """Return the runtime's last values beside those of the reference program."""
        program = self._reference_program(reference_graph, validate_handles)
        assert self._etrecord is not None
        inputs = self._etrecord._representative_inputs
        if inputs is None:
            raise ValueError("the record lacks representative inputs: call ETRecord.update_representative_inputs()")
        events = [event for block in self.event_blocks for event in block.events]
        if not any(event.debug_data for event in events):
            raise ValueError("the trace lacks values: record them with debug_buffer_size and pass debug_buffer_path")
        pairs = last_pairs(pairs_of(Reference(program).run(inputs).values, events))
        return comparable(pairs) if reference_graph == EXPORTED else pairs


def _comparator(distance: str | NumericalComparatorBase) -> NumericalComparatorBase:
    if isinstance(distance, NumericalComparatorBase):
        return distance
    name = distance.strip().upper()
    if name not in _COMPARATORS:
        raise ValueError(f"distance: expected one of {sorted(_COMPARATORS)}; found {distance!r}")
    return _COMPARATORS[name]()


def _is_within(module_name: str, stack: Any) -> bool:
    """Return whether the key or path of one of a node's modules (key → (path, class)) contains `module_name`.

    Strict and non-strict export write a key differently: L__self___conv and L__self__conv.
    """
    wanted = module_name.replace("L__self___", "L__self__")
    keys = ((key.replace("L__self___", "L__self__"), module[0]) for key, module in (stack or {}).items())
    return any(wanted in text for texts in keys for text in texts)
