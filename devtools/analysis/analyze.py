# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Collect the data of a report: run the program, lower its model again, compare both."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils._pytree import tree_leaves

from executorch.devtools.analysis.file_plan import plan_of_file
from executorch.devtools.analysis.run_analysis import RunAnalysis, analysis_of
from executorch.devtools.checked_program import checked_program
from executorch.devtools.comparison.by_operator import Lower, compare
from executorch.devtools.comparison.relower import check_alike, lower_as, plan_of
from executorch.devtools.comparison.result import Comparison
from executorch.devtools.etdump.recording import Progress, random_inputs, record_runs
from executorch.devtools.etdump.trace import Trace
from executorch.devtools.etrecord.record import ETRecord
from executorch.devtools.inspector.attribution import edge_program_of
from executorch.devtools.memory.constants import constants_of_file, constants_of_programs
from executorch.exir import ExecutorchProgramManager
from executorch.exir.serialize.regular_file import read_regular_file


def analyze_run(
    program: ExecutorchProgramManager | bytes | str | os.PathLike[str],
    *,
    title: str = "program",
    method: str = "forward",
    model: torch.nn.Module | ExportedProgram | None = None,
    inputs: Sequence[Any] | None = None,
    record: ETRecord | None = None,
    lower: Lower | None = None,
    trace: Trace | None = None,
    runs: int = 20,
    warm_up: int = 3,
    threads: int | None = None,
    progress: Progress = lambda numbers: numbers,
) -> RunAnalysis:
    """Analyze a trace of the program; run the program with tracing unless a trace is given.

    Args:
        program: the result of `to_executorch`, or the bytes or path of a `.pte` file.
        model: the program's model. It is lowered again (see `compare`) to map instructions to operators, and compared
            with the program. Without a model, `record` maps instructions to operators.
        inputs: positional arguments; by default random ones of the method's dtypes and sizes.
        runs, warm_up, threads: numbers of measured runs, of earlier unmeasured runs, and of threads; 0 runs: do not
        run.

    Raises: ValueError if model or record belong to another program, or inputs are required; errors of the runtime.
    """
    data = _bytes(program)
    exported = _exported(model, inputs)
    lowered = _lowered_again(program, data, exported, method, lower)
    comparison: Comparison | None = None
    if exported is not None:
        assert inputs is not None and lowered is not None
        comparison = compare(
            exported, lowered if lowered is program else data, inputs, method=method, lower=lambda _: lowered
        )
    if lowered is not None and record is None:
        record = _own_record(lowered)
    if trace is None and runs:
        leaves = random_inputs(data, method) if inputs is None else tree_leaves(tuple(inputs))
        recording = record_runs(
            data, leaves, method=method, runs=runs, warm_up=warm_up, threads=threads, progress=progress
        )
        trace = recording.trace
    plan = plan_of(checked_program(data).program.execution_plan, method)
    analysis = analysis_of(title, plan, len(data), trace=trace, record=record, comparison=comparison)
    return analysis.with_memory(plan_of_file(plan, analysis.modules), _constants(data, lowered, record, method))


def _bytes(program: ExecutorchProgramManager | bytes | str | os.PathLike[str]) -> bytes:
    if isinstance(program, ExecutorchProgramManager):
        return program.buffer
    return program if isinstance(program, bytes) else read_regular_file(program)


def _exported(model: torch.nn.Module | ExportedProgram | None, inputs: Sequence[Any] | None) -> ExportedProgram | None:
    if model is None:
        return None
    if inputs is None:
        raise ValueError("a comparison with a model requires inputs")
    return model if isinstance(model, ExportedProgram) else torch.export.export(model, tuple(inputs))


def _lowered_again(
    program: object, data: bytes, exported: ExportedProgram | None, method: str, lower: Lower | None
) -> ExecutorchProgramManager | None:
    """The program as the compiler's object: the given one, or its model lowered again; None if only the file is
    known.
    """
    if isinstance(program, ExecutorchProgramManager) and (exported is None or _own_record(program) is not None):
        return program
    if exported is None:
        return None
    lowered = lower(exported) if lower else lower_as(data, exported, method)
    check_alike(lowered, data, method)
    return lowered


def _constants(
    data: bytes, lowered: ExecutorchProgramManager | None, record: ETRecord | None, method: str
) -> dict[str, int]:
    """Module → bytes of the method's constants, from the compiled program, a record, or the names in the file."""
    if lowered is not None:
        name = method if method in lowered.methods else "forward"
        return constants_of_programs({method: lowered.exported_program(name)})
    edge = None if record is None else edge_program_of(record, method)
    return constants_of_file(checked_program(data).program) if edge is None else constants_of_programs({method: edge})


def _own_record(program: ExecutorchProgramManager) -> ETRecord | None:
    """The ETRecord of the export, if it was requested."""
    try:
        record: ETRecord = program.get_etrecord()
    except RuntimeError:
        return None
    return record
