# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A program and its methods."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from executorch.extension.pybindings.portable_lib import (
    ExecuTorchExecution,
    ExecuTorchMethod,
    ExecuTorchProgram,
    MethodMeta,
    ThreadPool,
    _execute_async,
)
from executorch.runtime.errors import InvalidArgumentError

_MAX_LIMIT = sys.maxsize


class Execution:
    """The future of `Method.execute_async`. Dropping it early cancels remaining tasks and waits for running ones."""

    __slots__ = ("_execution",)

    def __init__(self, execution: ExecuTorchExecution) -> None:
        self._execution = execution

    def done(self) -> bool:
        """Return whether nothing runs any more."""
        return self._execution.done()

    def cancel(self) -> None:
        """Start no further instruction. `result` raises CancelledError if any instruction has not run."""
        self._execution.cancel()

    def result(self, timeout: float | None = None) -> list[Any]:
        """Wait for the outputs and return them, like `Method.execute`; the method can then be used again.

        Further calls return the same outputs.

        Args:
            timeout: maximum seconds to wait.

        Raises:
            TimeoutError: the execution did not end in this time; it continues.
            BaseException: from a signal handler, such as KeyboardInterrupt; the execution continues.
            CancelledError: the execution was cancelled before its end.
            ExecuTorchError: see `Method.execute`; the earliest error in program order.
        """
        return self._execution.result(timeout)

    @property
    def task_count(self) -> int:
        """Number of tasks into which the method is divided; with one task, nothing runs concurrently."""
        return self._execution.task_count()


class Method:
    """A method of a program, ready to run.

    Threads that use the same method take turns; different methods, also of one program, run concurrently.
    """

    __slots__ = ("_method",)

    def __init__(self, method: ExecuTorchMethod) -> None:
        self._method = method

    def execute(self, inputs: Sequence[Any], *, clone_outputs: bool = True) -> list[Any]:
        """Run the method.

        Args:
            inputs: the flat sequence of inputs. A tensor is a numpy array, a torch tensor, or any object with a buffer
                or `__dlpack__`, of the dtype, rank and sizes that `metadata` states (for a dynamic size, the bound).
                A tensor in another layout is copied.
            clone_outputs: with False, output tensors view the method's memory instead of a copy, where possible. The
                memory lives as long as the tensors, and the method's next call overwrites it.

        Returns:
            the outputs. Tensors are of the kind of the first input tensor; without tensors among the inputs, torch
            tensors if torch has been imported, else numpy arrays.

        Raises:
            InvalidArgumentError: wrong number, dtype, rank or size of the inputs; the message names the input.
            InstructionBudgetError: its loops ran more instructions than its `instruction_budget`.
            BaseException: from a signal handler, such as KeyboardInterrupt. In the main thread, handlers run also
                while the program is in a loop.
            ExecuTorchError: a kernel or backend failed; the message contains the runtime's log.
        """
        return self._method(inputs, clone_outputs)

    def execute_async(self, inputs: Sequence[Any], *, threads: int = 0, clone_outputs: bool = True) -> Execution:
        """Start an execution on other threads and return its future.

        Independent parts of the program run at the same time if it was planned for that:
        `ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(concurrent=True))`; else it is one task.
        Until the result is taken, or the future dropped, the method cannot be used in any other way.

        Args:
            inputs: as for `execute`; they must not change before the end.
            threads: number of threads, shared by executions with the same number; 0: one for each usable physical
                core. A kernel does not divide its work among them. A delegate uses the threads it was loaded with, so
                load the method with `load_method(name, threads=1)`.
            clone_outputs: as for `execute`.

        Raises:
            InvalidArgumentError: the inputs do not fit.
            InvalidStateError: an execution is in progress, or its result was not taken.
            NotSupportedError: events are recorded (`enable_etdump`), or methods share arenas.
        """
        return Execution(_execute_async(self._method, inputs, threads, clone_outputs))

    def memory_planned_buffer_sizes(self) -> list[int]:
        """Return the bytes of each planned buffer that an execution needs for the input sizes given last.

        If the method has a parametric plan, this is at most the size that `metadata` states.
        """
        return self._method.memory_planned_buffer_sizes()

    def temp_memory_peak(self) -> int:
        """Return peak bytes of temporary memory of a kernel or delegate in all calls so far.

        A `MemoryManager` needs a temp allocator of this size, aligned to 64 bytes, for the same calls.
        """
        return self._method.temp_memory_peak()

    def dynamic_memory_peak(self) -> int:
        """Return peak bytes of tensors with unbounded sizes in all calls so far."""
        return self._method.dynamic_memory_peak()

    @property
    def delegate_scratch_size(self) -> int:
        """Bytes of working memory that the method's delegates have allocated since it was loaded.

        `metadata` does not include them. Memory that delegates share counts once.
        """
        return self._method.delegate_scratch_size()

    @property
    def metadata(self) -> MethodMeta:
        """Inputs, outputs, operators, backends and memory of the method."""
        return self._method.method_meta()


def _limit(name: str, limit: int | None) -> int | None:
    """Return the limit. Raises InvalidArgumentError if it is negative or too large."""
    if limit is not None and not 0 <= limit <= _MAX_LIMIT:
        raise InvalidArgumentError(f"{name}: expected a number from 0 to {_MAX_LIMIT}, found {limit}")
    return limit


class Program:
    """A verified program. It keeps its data source alive as long as it or one of its methods exists."""

    def __init__(
        self,
        program: ExecuTorchProgram,
        share_memory_arenas: bool = False,
        threads: ThreadPool | int | None = None,
        backend_options: Mapping[str, Mapping[str, bool | int | str]] | None = None,
        max_planned_bytes: int | None = None,
        instruction_budget: int | None = None,
    ) -> None:
        self._program = program
        limits = {"max_planned_bytes": max_planned_bytes, "instruction_budget": instruction_budget}
        program.set_limits(**{name: _limit(name, limit) or 0 for name, limit in limits.items()})
        program.use_threads(threads)
        program.use_backend_options(backend_options or {})
        self._shares_arenas = share_memory_arenas
        if share_memory_arenas:
            program.share_memory_arenas()
        self._methods: dict[tuple[str, ThreadPool | int | None, int | None, int | None], Method] = {}

    @property
    def method_names(self) -> set[str]:
        """The names of all methods."""
        return {self._program.get_method_name(index) for index in range(self._program.num_methods())}

    @property
    def constants_size(self) -> int:
        """The bytes that all constants take together; methods share them."""
        return self._program.constants_size()

    def load_method(
        self,
        name: str,
        *,
        threads: ThreadPool | int | None = None,
        max_planned_bytes: int | None = None,
        instruction_budget: int | None = None,
    ) -> Method:
        """Load a method. Equal arguments give the same object. If methods share arenas, all are loaded at once.

        Args:
            name: one of `method_names`.
            threads: a pool or a number of threads that replaces the program's. Methods with equal numbers share a pool.
            max_planned_bytes: a limit that replaces the program's (see `Runtime.load_program`); 0: no limit.
            instruction_budget: the same.

        Raises:
            MethodNotFoundError: the program has no method of that name (also a `KeyError`).
            OperatorMissingError, OutOfMemoryError, DelegateError: this runtime cannot run the method.
            OutOfMemoryError: the method's plan exceeds `max_planned_bytes`.
            InvalidArgumentError, NotSupportedError: the runtime cannot make this number of threads.
        """
        _limit("max_planned_bytes", max_planned_bytes)
        _limit("instruction_budget", instruction_budget)
        key = (name, threads, max_planned_bytes, instruction_budget)
        if self._shares_arenas and key != (name, None, None, None):
            raise InvalidArgumentError("methods that share arenas use the program's threads and limits: set them there")
        if key not in self._methods and self._shares_arenas:
            # Loading a method resets its state, so no method may run before all are loaded.
            names = {*self.method_names, name}
            methods = {name: Method(self._program.load_method(name)) for name in names}
            for method_name, method in methods.items():
                self._methods.setdefault((method_name, None, None, None), method)
        elif key not in self._methods:
            loaded = self._program.load_method(name, threads, max_planned_bytes, instruction_budget)
            self._methods.setdefault(key, Method(loaded))
        return self._methods[key]

    def metadata(self, method_name: str) -> MethodMeta:
        """Return metadata of a method without loading it.

        Raises:
            MethodNotFoundError: the program has no method of that name (also a `KeyError`).
        """
        return self._program.method_meta(method_name)

    def write_etdump_result_to_file(self, etdump_path: str, debug_buffer_path: str | None = None) -> None:
        """Write the events recorded since the program was loaded, for `executorch.devtools.Inspector`.

        Args:
            etdump_path: file for the events (`.etdp`).
            debug_buffer_path: file for the values that operators computed, if `debug_buffer_size` was set.

        Raises:
            InvalidStateError: the program was not loaded with `enable_etdump=True`, or no method has been loaded.
            AccessError: a file cannot be written.
        """
        self._program.write_etdump_result_to_file(etdump_path, debug_buffer_path)
