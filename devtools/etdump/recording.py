# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Running a program with tracing on: its trace, the values that it computed, and what it returned."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from executorch.devtools.etdump.trace import Trace, read_trace
from executorch.runtime import Runtime

Progress = Callable[[range], Iterable[int]]
"""Passes the numbers of the runs on, and may show how far it is."""
LOAD, EXECUTE = "Default", "Execute"


@dataclass(frozen=True)
class Recording:
    """`etdump`: the bytes of the trace (`.etdp`), warming up included. `trace`: the same, read, without it.

    `values`: the debug buffer, empty if none was asked for. `returned`: what the last run returned.
    """

    etdump: bytes
    trace: Trace
    values: bytes
    returned: list[Any]


def record_runs(
    program: bytes,
    inputs: Sequence[Any],
    *,
    method: str = "forward",
    runs: int = 1,
    warm_up: int = 0,
    debug_bytes: int = 0,
    threads: int | None = None,
    data: bytes | None = None,
    progress: Progress = lambda numbers: numbers,
) -> Recording:
    """Loads the bytes of a `.pte` and runs the method `warm_up` and then `runs` times on the flat `inputs`.

    debug_bytes: room for recorded values. threads: by default one for each core. data: the bytes of a `.ptd` beside it.
    Raises: ValueError if there is no such method, or nothing would be run; errors of the runtime.
    """
    if runs < 1 or warm_up < 0:
        raise ValueError(f"expected at least one run, and no fewer than 0 to warm up; found {runs} and {warm_up}")
    loaded = Runtime.get().load_program(
        program, enable_etdump=True, debug_buffer_size=debug_bytes, threads=threads, data_path=data
    )
    if method not in loaded.method_names:
        raise ValueError(f"the program has no method '{method}'; it has {sorted(loaded.method_names)}")
    ready = loaded.load_method(method)
    returned: list[Any] = []
    for _ in progress(range(warm_up + runs)):
        returned = list(ready.execute(inputs))
    with tempfile.TemporaryDirectory() as folder:
        trace, debug = Path(folder) / "trace.etdp", Path(folder) / "debug.bin"
        loaded.write_etdump_result_to_file(str(trace), str(debug) if debug_bytes else None)
        etdump, values = trace.read_bytes(), debug.read_bytes() if debug_bytes else b""
    read = read_trace(etdump)
    executions = [run for run in read.runs if run.name == EXECUTE]
    left_out = {id(run) for run in executions[:warm_up]}
    read.runs = [run for run in read.runs if id(run) not in left_out]
    return Recording(etdump, read, values, returned)


def random_inputs(program: bytes, method: str = "forward", seed: int = 0) -> list[Any]:
    """Inputs of the dtypes and (largest) sizes that a method states: floating point normally distributed, integers 0 or
    1, which are indices into anything.

    Raises ValueError for an input that is no tensor, or of a dtype that numpy does not have: give inputs then.
    """
    loaded = Runtime.get().load_program(program)
    if method not in loaded.method_names:
        raise ValueError(f"the program has no method '{method}'; it has {sorted(loaded.method_names)}")
    stated = loaded.metadata(method)
    generator = np.random.default_rng(seed)
    made: list[Any] = []
    for index in range(stated.num_inputs()):
        try:
            tensor = stated.input_tensor_meta(index)
        except RuntimeError as error:
            raise ValueError(f"input {index} of '{method}' is no tensor: inputs have to be given ({error})") from error
        try:
            dtype = np.dtype(tensor.dtype_name())
        except TypeError as error:
            raise ValueError(
                f"input {index} of '{method}' is {tensor.dtype_name()}: inputs have to be given"
            ) from error
        is_real = np.issubdtype(dtype, np.floating)
        values = generator.standard_normal(tensor.sizes()) if is_real else generator.integers(0, 2, tensor.sizes())
        made.append(np.asarray(values).astype(dtype))
    return made
