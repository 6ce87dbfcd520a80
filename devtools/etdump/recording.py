# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Run a program with tracing; return its trace, recorded values and outputs."""

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
"""Wraps an iterable of run numbers, for example to show progress."""
LOAD, EXECUTE = "Default", "Execute"


@dataclass(frozen=True)
class Recording:
    """Recording of runs.

    etdump: bytes of the trace (`.etdp`), including warm-up runs. trace: the parsed trace without warm-up runs. values:
    the debug buffer, empty if none was requested. returned: outputs of the last run.
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
    """Load the bytes of a `.pte` and run the method `warm_up` times, then `runs` times, on the flat `inputs`.

    debug_bytes: size of the debug buffer for values. threads: default one for each core. data: bytes of the program's
    `.ptd`. Raises ValueError for an unknown method or runs < 1, and errors of the runtime.
    """
    if runs < 1 or warm_up < 0:
        raise ValueError(f"expected at least 1 run and 0 warm-up runs; found {runs} and {warm_up}")
    loaded = Runtime.get().load_program(
        program, enable_etdump=True, debug_buffer_size=debug_bytes, threads=threads, data_path=data
    )
    if method not in loaded.method_names:
        raise ValueError(f"the program has no method '{method}': expected one of {sorted(loaded.method_names)}")
    loaded_method = loaded.load_method(method)
    returned: list[Any] = []
    for _ in progress(range(warm_up + runs)):
        returned = list(loaded_method.execute(inputs))
    with tempfile.TemporaryDirectory() as folder:
        trace, debug = Path(folder) / "trace.etdp", Path(folder) / "debug.bin"
        loaded.write_etdump_result_to_file(str(trace), str(debug) if debug_bytes else None)
        etdump, values = trace.read_bytes(), debug.read_bytes() if debug_bytes else b""
    recorded = read_trace(etdump)
    executions = [run for run in recorded.runs if run.name == EXECUTE]
    left_out = {id(run) for run in executions[:warm_up]}
    recorded.runs = [run for run in recorded.runs if id(run) not in left_out]
    return Recording(etdump, recorded, values, returned)


def random_inputs(program: bytes, method: str = "forward", seed: int = 0) -> list[Any]:
    """Return random inputs of a method's dtypes and upper-bound sizes.

    Floats are normally distributed. Integers are 0 or 1, which are valid as indices.
    Raises ValueError for an input that is not a tensor or whose dtype numpy lacks.
    """
    loaded = Runtime.get().load_program(program)
    if method not in loaded.method_names:
        raise ValueError(f"the program has no method '{method}': expected one of {sorted(loaded.method_names)}")
    metadata = loaded.metadata(method)
    generator = np.random.default_rng(seed)
    inputs: list[Any] = []
    for index in range(metadata.num_inputs()):
        try:
            tensor = metadata.input_tensor_meta(index)
        except RuntimeError as error:
            raise ValueError(f"input {index} of '{method}' is not a tensor: pass inputs ({error})") from error
        try:
            dtype = np.dtype(tensor.dtype_name())
        except TypeError as error:
            raise ValueError(
                f"input {index} of '{method}' has dtype {tensor.dtype_name()}, which numpy lacks: pass inputs"
            ) from error
        is_real = np.issubdtype(dtype, np.floating)
        values = generator.standard_normal(tensor.sizes()) if is_real else generator.integers(0, 2, tensor.sizes())
        inputs.append(np.asarray(values).astype(dtype))
    return inputs
