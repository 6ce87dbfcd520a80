# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Run the C++ tests while each system call and each start of a thread that they make fails once.

    python -m test.faults.whole_suite [--build FOLDER] [--points N] [--seed N] [--seconds N] [--journal FILE] [PROGRAM…]

Every test runs in a process of its own: once to count its points (open, fstat, pread, mmap, mlock, madvise,
pthread_create), then once for each point, or for N points of it, in an order that the seed chooses over all programs.
The test may pass, fail, or abort by a check of its own (the failed call is not recorded then); a sanitizer's report, an
abort by the project's code or a library, another signal, or no end within TIMEOUT is a finding. Builds without
AddressSanitizer do not report where a program aborts: there, each abort is a finding. After --seconds, no further point
is tried and no further test counted.
--journal keeps each outcome in FILE, and a later run with it goes on where an earlier one stopped; outcomes of programs
that were built again do not count. Prints a row for each program with the points that it has and those that were tried.
Ends with 1 after findings, and with 2 if nothing was built or tried. A build with
-DEXECUTORCH_SANITIZE=address,undefined also reports leaks. Without PROGRAM: all that the folder has. Faults of
delegates, allocators, loaders and the heap: every_fault_test.cpp and test/memory."""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from test.line_file import append_line, read_complete_lines

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 60
"""Seconds that a test may take while something fails; without faults, tests that take longer are left out."""
LIBRARY = "libfaults_preloaded.so"
SANITIZER_REPORTS = ("AddressSanitizer", "LeakSanitizer", "runtime error:")
ABORT_REPORT = "ERROR: AddressSanitizer: ABRT"
FRAME = re.compile(r"^ +#\d+ 0x[0-9a-f]+ in .* (\S+?):\d+(?::\d+)?$", re.MULTILINE)
CHECKS = ("runtime/platform/", "runtime/core/result.h")
"""Files that abort for their callers."""
INJECTING = ("faults_test", "memory_test")
"""Programs that inject faults themselves."""
ENDS_OF_TESTS = ("passed", "failed", "aborted")
NO_POINT = sys.maxsize
"""The point of a run in which nothing fails."""


@dataclass(frozen=True)
class Outcome:
    """End of a test, the number of points that it passed, and the call that failed."""

    end: str
    points: int
    call: str


def aborted_by_a_test(report: str) -> bool:
    """Return whether the first file of the project, apart from CHECKS, that a report of an abort names is a test."""
    names = filter(None, map(_name_in_project, FRAME.findall(report)))
    caller = next((name for name in names if not name.startswith(CHECKS)), "")
    return caller.startswith("test/")


def _name_in_project(place: str) -> str | None:
    """Return the name of a source; None for others. A report names it relative to the build, or below another root."""
    parts = [part for part in Path(place).parts if part not in ("/", "..")]
    names = ("/".join(parts[i:]) for i in range(len(parts)))
    return next((name for name in names if (ROOT / name).is_file()), None)


class Runner:
    """Runs one test of a program at a time, with the library that injects faults."""

    def __init__(self, library: Path, scratch: Path) -> None:
        self._report = scratch / "report"
        self._environment = os.environ | {"EXECUTORCH_FAULT_REPORT": str(self._report)}
        self._environment["LD_PRELOAD"] = str(library)
        # AddressSanitizer's library follows this one; each calls the next definition of what both replace.
        self._environment["ASAN_OPTIONS"] = "verify_asan_link_order=0:handle_abort=1"

    def run(self, program: Path, test: str, point: int) -> Outcome:
        """Run a test while a point fails."""
        self._report.unlink(missing_ok=True)
        command = [str(program), f"--gtest_filter={test}", "--gtest_brief=1"]
        environment = self._environment | {"EXECUTORCH_FAIL_AT": str(point)}
        try:
            ended = subprocess.run(command, env=environment, capture_output=True, errors="replace", timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            return Outcome("hang", 0, "")
        points, call = 0, ""
        if self._report.exists():
            number, _, call = self._report.read_text().strip().partition(" ")
            points = int(number)
        if ABORT_REPORT in ended.stderr:
            return Outcome("aborted" if aborted_by_a_test(ended.stderr) else "aborted outside of tests", points, call)
        if any(mark in ended.stderr for mark in SANITIZER_REPORTS):
            return Outcome("sanitizer", points, call)
        if ended.returncode in (0, 1):
            return Outcome(("passed", "failed")[ended.returncode], points, call)
        return Outcome(f"status {ended.returncode}", points, call)


class Journal:
    """Outcomes of this run and, with a file, of earlier ones."""

    def __init__(self, runner: Runner, path: Path | None) -> None:
        self._runner = runner
        self._path = path
        self._outcomes: dict[tuple[str, int, str, int], Outcome] = {}
        for line in read_complete_lines(path) if path is not None else []:
            program, built, test, point, *outcome = json.loads(line)
            self._outcomes[program, built, test, point] = Outcome(*outcome)

    def outcome(self, program: Path, test: str, point: int) -> Outcome:
        """The outcome of a test while a point fails; runs it unless an earlier run did."""
        key = (program.name, program.stat().st_mtime_ns, test, point)
        if key not in self._outcomes:
            outcome = self._outcomes[key] = self._runner.run(program, test, point)
            if self._path is not None:
                append_line(self._path, json.dumps([*key, outcome.end, outcome.points, outcome.call]))
        return self._outcomes[key]


def tests_of(program: Path) -> list[str]:
    listed = subprocess.run([str(program), "--gtest_list_tests"], capture_output=True, text=True, check=True)
    tests, suite = [], ""
    for line in listed.stdout.splitlines():
        name = line.split("#")[0].strip()
        if line.startswith("  "):
            tests.append(suite + name)
        else:
            suite = name
    return tests


@dataclass
class Row:
    """A program's tests and points, and the outcomes of those that were tried."""

    program: Path
    tests: int = 0
    uncounted: int = 0
    points: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)

    def cases(
        self, journal: Journal, most: int, choice: random.Random, end: float = float("inf")
    ) -> Iterator[tuple[Row, str, int]]:
        """Count the points of every test until the time `end`, and choose at most `most` of each."""
        for test in tests_of(self.program):
            if time.monotonic() > end:
                self.uncounted += 1
                continue
            unharmed = journal.outcome(self.program, test, NO_POINT)
            if unharmed.end != "passed":
                print(f"{self.program.name}: {test} left out: {unharmed.end} without faults", flush=True)
                continue
            self.tests += 1
            self.points += unharmed.points
            for point in choice.sample(range(unharmed.points), min(unharmed.points, most)):
                yield self, test, point

    def examine(self, journal: Journal, test: str, point: int) -> None:
        """Run a test while a point fails, and print a finding."""
        outcome = journal.outcome(self.program, test, point)
        self.ends[outcome.end] += 1
        self.calls[outcome.call or "not recorded"] += 1
        if outcome.end not in ENDS_OF_TESTS:
            finding = f"{self.program.name} --gtest_filter={test}, point {point}, {outcome.call}: {outcome.end}"
            print(f"FINDING {finding}", flush=True)

    @property
    def findings(self) -> int:
        return self.ends.total() - sum(self.ends[end] for end in ENDS_OF_TESTS)

    def __str__(self) -> str:
        left = f" and {self.uncounted} that were not counted" if self.uncounted else ""
        tried = f"{self.tests} tests{left}, {self.ends.total()} of {self.points} points"
        return f"{self.program.name}: {tried}; {dict(self.ends)}; {dict(self.calls)}"


def built_programs(folder: Path, names: list[str]) -> list[Path]:
    """Return the test programs of these names, or all that inject no faults themselves.

    Raises:
        FileNotFoundError: A program is not built, or none, or the library that injects faults.
    """
    library = folder / LIBRARY
    if not library.is_file():
        raise FileNotFoundError(f"{library} is not built: EXECUTORCH_BUILD_TESTS=ON builds it")
    chosen = names or sorted(path.name for path in folder.glob("*_test") if path.name not in INJECTING)
    missing = [name for name in chosen if not os.access(folder / name, os.X_OK)]
    if missing or not chosen:
        raise FileNotFoundError(f"{folder} has no test program{': ' + ', '.join(missing) if missing else 's'}")
    return [folder / name for name in chosen]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/sanitized")
    parser.add_argument("--points", type=int, default=sys.maxsize)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--journal", type=Path)
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args(arguments)
    folder = options.build / "test"
    try:
        rows = [Row(program) for program in built_programs(folder, options.programs)]
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    end = time.monotonic() + options.seconds
    choice = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as scratch:
        journal = Journal(Runner(folder / LIBRARY, Path(scratch)), options.journal)
        cases = [case for row in rows for case in row.cases(journal, options.points, choice, end)]
        choice.shuffle(cases)
        for row, test, point in cases:
            if time.monotonic() > end:
                break
            row.examine(journal, test, point)
    for row in rows:
        print(row)
    if any(row.findings for row in rows):
        return 1
    if not any(row.ends for row in rows):
        print("no point was tried", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
