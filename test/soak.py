# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Execute programs many times in varying shapes, and check that memory, files, threads and latency do not grow.

    python -m test.soak [--executions N] [--windows N]

Programs of test/data are loaded, executed, released and loaded again: static and dynamic shapes, branches, state, data
in another file, XNNPACK delegates if the runtime has the backend, on the calling thread and asynchronously. After each
window of executions the command reads the process's private memory, open files, threads and median latency. Files and
threads must stay the same. After the first windows, memory may grow by GROWTH bytes and latency by LATENCY_RATIO. The
command prints a table, and exits with status 1 if one of them grew."""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from executorch.runtime import Method, Runtime

DATA = Path(__file__).resolve().parent / "data"
GROWTH = 2 << 20
LATENCY_RATIO = 1.5
RELOAD_EVERY = 63
"""Executions between two reloads. It shares no factor with the number of subjects, 10 or 8, so each has its turn."""
CONCURRENT_SHARE = 0.5


@dataclass(frozen=True)
class Subject:
    """A method and its inputs. `sizes` draws one size for each input; `branches`: the first one is a condition;
    `concurrent`: planned for execution on threads."""

    file: str
    sizes: Callable[[random.Random], Sequence[tuple[int, ...]]]
    method: str = "forward"
    data_file: str | None = None
    backend: str | None = None
    branches: bool = False
    concurrent: bool = False


def always(*sizes: tuple[int, ...]) -> Callable[[random.Random], Sequence[tuple[int, ...]]]:
    return lambda _: sizes


SUBJECTS = (
    Subject("peer/add.pte", always((2, 3), (2, 3))),
    Subject("peer/mlp_dynamic.pte", lambda choice: [(choice.randint(1, 16), 8)]),
    Subject("peer/conv.pte", always((1, 3, 16, 16))),
    Subject("peer/cond.pte", always((), (4,)), branches=True),
    Subject("peer/counter.pte", always((3,))),
    Subject("peer/external.pte", always((1, 3)), data_file="peer/external.ptd"),
    Subject("int8/images.pte", always((1, 3, 8, 8)), concurrent=True),
    Subject("int8/rows.pte", always((2, 12))),
    Subject("xnnpack/two_sizes.pte", always((1, 3, 8, 8)), method="small", backend="XnnpackBackend"),
    Subject("xnnpack/quantized.pte", always((1, 3, 8, 8)), backend="XnnpackBackend"),
)


@dataclass
class Window:
    """The state of the process after some executions. `memory`: private bytes. `latency`: seconds, median."""

    executions: int
    memory: int
    files: int
    threads: int
    latency: float


@dataclass
class Report:
    windows: list[Window] = field(default_factory=list)

    def faults(self) -> list[str]:
        """Quantities that grew after the first quarter of the windows, in which caches fill."""
        settled = self.windows[len(self.windows) // 4 :]
        first, last = settled[0], settled[-1]
        faults = []
        if last.files != first.files:
            faults.append(f"open files: {first.files}, then {last.files}")
        if last.threads != first.threads:
            faults.append(f"threads: {first.threads}, then {last.threads}")
        if last.memory - first.memory > GROWTH:
            faults.append(f"memory: {first.memory} bytes, then {last.memory}")
        half = len(settled) // 2
        before, after = (statistics.median(w.latency for w in part) for part in (settled[:half], settled[half:]))
        if after > before * LATENCY_RATIO:
            faults.append(f"latency: {before * 1e6:.1f} µs, then {after * 1e6:.1f} µs")
        return faults


def private_memory() -> int:
    fields = (line.split() for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:])
    return sum(int(row[1]) << 10 for row in fields if row[0] in ("Private_Dirty:", "Private_Clean:"))


class Soak:
    """Executes the subjects in turn. The subject of each ``RELOAD_EVERY``-th execution is loaded again."""

    def __init__(self, seed: int = 0) -> None:
        self._choice = random.Random(seed)
        backends = Runtime.get().backend_registry.registered_backend_names
        self._subjects = [s for s in SUBJECTS if s.backend is None or s.backend in backends]
        self._methods: dict[str, Method] = {}
        self._runs = 0

    def _method(self, subject: Subject) -> Method:
        if subject.file not in self._methods:
            weights = DATA / subject.data_file if subject.data_file else None
            program = Runtime.get().load_program(DATA / subject.file, data_path=weights)
            method = program.load_method(subject.method)
            assert method is not None, subject
            self._methods[subject.file] = method
        return self._methods[subject.file]

    def execute(self) -> None:
        """Execute the next subject once."""
        subject = self._subjects[self._runs % len(self._subjects)]
        method = self._method(subject)
        number = self._choice.randint(-1, 1)
        inputs: list[np.ndarray] = [np.full(size, number, np.float32) for size in subject.sizes(self._choice)]
        if subject.branches:
            inputs[0] = np.array(number > 0)
        self._runs += 1
        if subject.concurrent and self._choice.random() < CONCURRENT_SHARE:
            method.execute_async(inputs).result()
        else:
            method.execute(inputs)
        if self._runs % RELOAD_EVERY == 0:
            del self._methods[subject.file]

    def window(self, executions: int) -> Window:
        times = []
        for _ in range(executions):
            start = time.perf_counter()
            self.execute()
            times.append(time.perf_counter() - start)
        self._methods.clear()  # loaded programs keep their files open
        files, threads = (len(os.listdir(f"/proc/self/{folder}")) for folder in ("fd", "task"))
        return Window(self._runs, private_memory(), files, threads, statistics.median(times))


def soak(executions: int, windows: int) -> Report:
    """Run the given number of executions and record the state after each window of them."""
    subjects, report = Soak(), Report()
    for _ in range(windows):
        report.windows.append(subjects.window(executions // windows))
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--executions", type=int, default=1_000_000)
    parser.add_argument("--windows", type=int, default=40)
    options = parser.parse_args()
    start = time.monotonic()
    report = soak(options.executions, options.windows)
    print(f"{'executions':>12} {'memory MB':>10} {'files':>6} {'threads':>8} {'median µs':>10}")
    for w in report.windows:
        print(f"{w.executions:>12} {w.memory / 1e6:>10.2f} {w.files:>6} {w.threads:>8} {w.latency * 1e6:>10.1f}")
    faults = report.faults()
    print(f"{time.monotonic() - start:.0f} s; " + ("; ".join(faults) if faults else "nothing grew"))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
