# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The entry point: from bytes or a file to a program."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from executorch.extension.pybindings.portable_lib import (
    ThreadPool,
    Verification,
    _default_max_planned_bytes,
    _load_program,
    _load_program_from_buffer,
)
from executorch.runtime.program import Program
from executorch.runtime.registry import BackendRegistry, OperatorRegistry

DEFAULT_MAX_PLANNED_BYTES: int = _default_max_planned_bytes()
"""Default limit of `load_program`: three quarters of the memory, also of a container's limit; 0 if that is unknown."""


class Runtime:
    """The runtime of this process. Any number of programs may be loaded and run at once.

    Attributes:
        backend_registry: the backends that can be used.
        operator_registry: the operators that can be run.
    """

    def __init__(self) -> None:
        self.backend_registry = BackendRegistry()
        self.operator_registry = OperatorRegistry()

    @staticmethod
    @functools.lru_cache(maxsize=1)
    def get() -> Runtime:
        """The one instance."""
        return Runtime()

    def load_program(
        self,
        data: bytes | bytearray | memoryview | BinaryIO | Path | str,
        *,
        verification: Verification = Verification.InternalConsistency,
        enable_etdump: bool = False,
        debug_buffer_size: int = 0,
        data_path: Path | str | bytes | None = None,
        share_memory_arenas: bool = False,
        threads: ThreadPool | int | None = None,
        backend_options: Mapping[str, Mapping[str, bool | int | str]] | None = None,
        max_planned_bytes: int | None = DEFAULT_MAX_PLANNED_BYTES,
        instruction_budget: int | None = None,
    ) -> Program:
        """Load and verify a program.

        Args:
            data: a path, which is mapped into memory; `bytes`, which are used where they are; or a `bytearray`,
                `memoryview` or binary file, which are copied, because they may change.
            verification: accepted for scripts that choose one; every program is verified in full.
            enable_etdump: record events and their times (`Program.write_etdump_result_to_file`). The program's methods
                then take turns.
            debug_buffer_size: with `enable_etdump`, bytes for recording computed values; 0: none. Values that do not
                fit are dropped, with a message in the log.
            data_path: weights beside the program: the path of a `.ptd` file, or its bytes.
            share_memory_arenas: methods share the memory of values within an execution, so that they take turns, and
                the state that was planned to be shared (`MemoryPlanningPass(share_mutable_buffers=True)`). Any
                method's next call overwrites output tensors that view a method's memory.
            threads: a pool or a number of threads for the methods (programs with equal numbers share a pool); by
                default the process's pool, with one thread for each physical core that the process may use.
            backend_options: for backends by their names, options by theirs, for methods of this program. XnnpackBackend
                has `packed_cache_path` (a file in which packed weights are kept for the next start),
                `compute_precision` (`"bf16"`: products of float32 may round their factors, `"fp32"`: they do not),
                `weight_cache_enabled` and `workspace_sharing_mode` (0: each delegate has its own scratch memory,
                1, the default: methods of the program on the same threads share it, 2: all in the process do), and
                `max_workspace_bytes`, the limit of that memory for a delegate (0: no limit; the default is three
                quarters of the machine's memory). A delegate that needs more raises OutOfMemoryError with its need.
            max_planned_bytes: limit of a method's planned buffers and of the outputs that its plan leaves to the
                caller; 0 or None: no limit. Loading a method that needs more raises OutOfMemoryError with its need.
            instruction_budget: limit of the instructions that the loops of one execution may run, for programs that
                might never end; 0 or None: no limit. Beyond it, an execution raises InstructionBudgetError.

        Raises:
            AccessError: the program or data file cannot be read (also an `OSError`).
            InvalidProgramError: the program or the data file is invalid, damaged, or of another version.
            NotSupportedError: arenas cannot be shared, because a method keeps its own state there.
            TypeError: `data` is of another type.
        """
        weights = (None, data_path) if isinstance(data_path, bytes) else (data_path and os.fspath(data_path), None)
        options = (enable_etdump, debug_buffer_size, verification, *weights)
        if isinstance(data, (str, os.PathLike)):
            loaded = _load_program(os.fspath(data), *options)
            return Program(loaded, share_memory_arenas, threads, backend_options, max_planned_bytes, instruction_budget)
        if isinstance(data, (bytearray, memoryview)):
            data = bytes(data)
        elif hasattr(data, "read"):
            data = data.read()
        if not isinstance(data, bytes):
            raise TypeError(
                "data must be bytes, a bytearray, a memoryview, a path or a binary file, "
                f"not {type(data).__name__} (a text file is opened with mode 'rb')"
            )
        loaded = _load_program_from_buffer(data, *options)
        return Program(loaded, share_memory_arenas, threads, backend_options, max_planned_bytes, instruction_budget)
