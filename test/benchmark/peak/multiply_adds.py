# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The time of bare multiply-add instructions, as many as a model's products have: a bound for every engine.

``multiply_adds.cpp`` has the instructions. The C++ compiler (``CXX``, else ``c++``) translates it for this processor,
with OpenMP for the threads. Convolutions count as they are defined: the share of Winograd's form, which multiplies
less, may exceed 1.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[3]
_SOURCES = ("test/benchmark/peak/multiply_adds.cpp", "kernels/engine/instruction_set.cpp")


class NoPeakError(RuntimeError):
    """This machine gives no figure; the message says why."""


def product_operations(model: Any, inputs: tuple[Any, ...]) -> int:
    """Operations of the products of a call, by torch's formulas: two for each multiply-add."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    # Without oneDNN, recurrent layers are products. torch has no formula for oneDNN's operator for them.
    with torch.no_grad(), torch.backends.mkldnn.flags(enabled=False), FlopCounterMode(display=False) as counter:
        model(*inputs)
    return int(counter.get_total_flops())


def multiply_adds(precision: str, operations: float, threads: int) -> Callable[[], None]:
    """Return a call that executes this number of operations by bare instructions, divided among threads.

    The instruction is the one of the highest set in effect. Raises NoPeakError without compiler or instruction.
    """
    library = _library()
    instruction = ctypes.c_void_p(library.peak_instruction(precision.encode()))
    if not instruction:
        raise NoPeakError(f"no instruction is known for {precision} on this processor")
    count = ctypes.c_double(operations)
    return lambda: library.peak_run(instruction, count, ctypes.c_int(threads))


def instruction_name(precision: str) -> str | None:
    """The instruction that `multiply_adds` executes, or None if this processor has none."""
    library = _library()
    instruction = ctypes.c_void_p(library.peak_instruction(precision.encode()))
    return library.peak_name(instruction).decode() if instruction else None


@cache
def _library() -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "peak.so"
        (Path(folder) / "executorch").symlink_to(_ROOT)
        options = ["-std=c++17", "-O2", "-fopenmp", "-fPIC", "-shared", "-DET_LOG_ENABLED=0", f"-I{folder}"]
        command = [os.environ.get("CXX", "c++"), *options, *(str(_ROOT / source) for source in _SOURCES)]
        try:
            subprocess.run([*command, "-o", str(library)], check=True, capture_output=True, text=True)
        except OSError as missing:
            raise NoPeakError(f"no C++ compiler: {missing}") from missing
        except subprocess.CalledProcessError as failed:
            raise NoPeakError(f"{command[0]} fails: {failed.stderr.strip().splitlines()[0]}") from failed
        loaded = ctypes.CDLL(str(library))
    loaded.peak_instruction.restype = ctypes.c_void_p
    loaded.peak_run.restype = None
    loaded.peak_name.restype = ctypes.c_char_p
    loaded.peak_name.argtypes = (ctypes.c_void_p,)
    return loaded
