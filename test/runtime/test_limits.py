# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Programs that need too much memory, or never end."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch._higher_order_ops import while_loop
from torch.export import export

from executorch.exir import to_edge
from executorch.runtime import (
    DEFAULT_MAX_PLANNED_BYTES,
    InstructionBudgetError,
    InvalidArgumentError,
    Method,
    OutOfMemoryError,
    Program,
    Runtime,
)

ENDLESS = np.array(2**62)


class Count(nn.Module):
    """Counts up to a number, in a loop of the program."""

    def forward(self, n):
        start = torch.zeros((), dtype=torch.int64)
        return while_loop(lambda i, n: i < n, lambda i, n: (i + 1, n.clone()), (start, n))[0]


class Wide(nn.Module):
    def forward(self, x):
        return (x * 2).sin() + 1


@pytest.fixture(scope="module")
def counting() -> bytes:
    return to_edge(export(Count(), (torch.tensor(3),))).to_executorch().buffer


@pytest.fixture(scope="module")
def wide() -> bytes:
    return to_edge(export(Wide(), (torch.ones(1000, 1000),))).to_executorch().buffer


def load(data: bytes, **options: int | None) -> Program:
    return Runtime.get().load_program(data, **options)


def counted(method: Method, n: int) -> int:
    return int(method.execute([np.array(n)])[0])


def test_loops_within_the_budget_run_to_their_end(counting: bytes) -> None:
    method = load(counting, instruction_budget=10_000).load_method("forward")
    assert [counted(method, n) for n in (0, 5, 100)] == [0, 5, 100]


def test_a_loop_without_end_uses_its_budget_up_and_the_method_can_run_again(counting: bytes) -> None:
    method = load(counting, instruction_budget=10_000).load_method("forward")
    for _ in range(2):
        with pytest.raises(InstructionBudgetError, match="budget of 10000 instructions"):
            method.execute([ENDLESS])
        assert counted(method, 7) == 7


def test_a_budget_holds_for_executions_on_other_threads(counting: bytes) -> None:
    method = load(counting).load_method("forward", threads=1, instruction_budget=10_000)
    with pytest.raises(InstructionBudgetError, match="budget of 10000 instructions"):
        method.execute_async([ENDLESS]).result()
    assert int(method.execute_async([np.array(7)]).result()[0]) == 7


def test_a_method_may_have_its_own_budget(counting: bytes) -> None:
    program = load(counting, instruction_budget=20)
    with pytest.raises(InstructionBudgetError):
        counted(program.load_method("forward"), 1000)
    assert counted(program.load_method("forward", instruction_budget=0), 1000) == 1000


@contextmanager
def signal_soon(number: signal.Signals) -> Iterator[None]:
    # A shell ignores SIGINT in background commands; Python then installs no handler for it.
    before = signal.signal(number, signal.default_int_handler) if number == signal.SIGINT else None
    timer = threading.Timer(0.1, os.kill, (os.getpid(), number))
    timer.start()
    try:
        yield
        timer.join()
    finally:
        if before is not None:
            signal.signal(number, before)


def runs_endlessly(method: Method) -> Callable[[], object]:
    return lambda: method.execute([ENDLESS])


def waits_for_a_result(method: Method) -> Callable[[], object]:
    execution = method.execute_async([ENDLESS], threads=1)
    return execution.result


@pytest.mark.parametrize("wait", [runs_endlessly, waits_for_a_result])
def test_an_interrupt_ends_an_endless_loop(wait: Callable[[Method], Callable[[], object]], counting: bytes) -> None:
    method = load(counting).load_method("forward")
    endless = wait(method)
    with signal_soon(signal.SIGINT), pytest.raises(KeyboardInterrupt):
        endless()
    if wait is runs_endlessly:
        assert counted(method, 7) == 7


def test_a_signal_handler_that_does_not_raise_lets_the_loop_continue(counting: bytes) -> None:
    method = load(counting).load_method("forward")
    seen: list[int] = []

    def handle(number: int, frame: object) -> None:
        seen.append(number)
        if len(seen) == 2:
            raise TimeoutError("enough")

    before = signal.signal(signal.SIGUSR1, handle)
    try:
        with signal_soon(signal.SIGUSR1):
            timer = threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGUSR1))
            timer.start()
            with pytest.raises(TimeoutError, match="enough"):
                method.execute([ENDLESS])
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(seen) == 2


AGAIN = """\
        def execute_again() -> None:
            while True:
                method.execute([np.array(20_000)])
        for _ in range(COUNT):
            threading.Thread(target=execute_again, daemon=True).start()"""
AT_EXIT = {
    "a daemon thread executes again and again": AGAIN.replace("COUNT", "1"),
    "daemon threads take turns": AGAIN.replace("COUNT", "3"),
    "a daemon thread executes": "threading.Thread(target=method.execute, args=([n],), daemon=True).start()",
    "a daemon thread waits for its turn": """\
        for _ in range(2):
            threading.Thread(target=method.execute, args=([n],), daemon=True).start()""",
    "a daemon thread waits for a result": """\
        execution = method.execute_async([n], threads=2)
        threading.Thread(target=execution.result, daemon=True).start()""",
    "an execution is dropped": "execution = method.execute_async([n], threads=2)",
    "an execution is never dropped": """\
        execution = method.execute_async([n], threads=2)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(execution._execution))
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(method._method))""",
    "a forked process ends while its parent executes": """\
        execution = method.execute_async([n], threads=2)
        child = os.fork()
        if child == 0:
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0""",
    "a thread forks while another executes": """\
        threading.Thread(target=method.execute, args=([n],), daemon=True).start()
        time.sleep(0.05)
        child = os.fork()
        if child == 0:
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0""",
}


@pytest.mark.parametrize("body", AT_EXIT.values(), ids=list(AT_EXIT))
def test_the_interpreter_exits_while_a_loop_runs(body: str, counting: bytes, tmp_path: Path) -> None:
    (tmp_path / "count.pte").write_bytes(counting)
    script = f"""\
        import ctypes, os, sys, threading, time
        import numpy as np
        from executorch.runtime import Runtime

        method = Runtime.get().load_program("count.pte").load_method("forward")
        n = np.array(2**62)
        {textwrap.dedent(body).replace(chr(10), chr(10) + " " * 8)}
        time.sleep(0.1)
        print("end")
    """
    source = textwrap.dedent(script)
    done = subprocess.run(
        [sys.executable, "-c", source], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    # The log says at level I that all is one task: the program was not planned for several.
    errors = [line for line in done.stderr.splitlines() if not line.startswith("I ")]
    assert (done.returncode, done.stdout, errors) == (0, "end\n", [])


def test_a_method_that_wants_more_memory_than_allowed_is_not_loaded(wide: bytes) -> None:
    program = load(wide, max_planned_bytes=1_000_000)
    wanted = sum(program.metadata("forward").memory_planned_buffer_sizes())
    assert wanted >= 4_000_000
    with pytest.raises(OutOfMemoryError, match=rf"needs {wanted} bytes .* max_planned_bytes is 1000000"):
        program.load_method("forward")
    x = np.ones((1000, 1000), np.float32)
    assert program.load_method("forward", max_planned_bytes=wanted).execute([x])[0].shape == x.shape


@pytest.mark.parametrize("none", [0, None])
def test_no_limit_can_be_requested(none: int | None, wide: bytes) -> None:
    assert load(wide, max_planned_bytes=none).load_method("forward")


def test_the_limit_holds_for_methods_that_share_arenas(wide: bytes) -> None:
    with pytest.raises(OutOfMemoryError, match="max_planned_bytes is 1000"):
        load(wide, max_planned_bytes=1000, share_memory_arenas=True)


def test_by_default_the_limit_is_three_quarters_of_the_memory() -> None:
    # Less where a container has a limit: physical_memory_test.cpp.
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < DEFAULT_MAX_PLANNED_BYTES <= memory // 4 * 3


@pytest.mark.parametrize("name", ["max_planned_bytes", "instruction_budget"])
@pytest.mark.parametrize("wrong", [-1, 2**64])
def test_limits_that_are_not_numbers_of_bytes_are_refused(name: str, wrong: int, counting: bytes) -> None:
    with pytest.raises(InvalidArgumentError, match=f"{name}: expected a number from 0"):
        load(counting, **{name: wrong})
    with pytest.raises(InvalidArgumentError, match=f"{name}: expected a number from 0"):
        load(counting).load_method("forward", **{name: wrong})
