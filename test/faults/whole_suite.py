# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Run the C++ tests while each system call and each start of a thread that they make fails once.

    python -m test.faults.whole_suite [--build FOLDER] [--points N] [--seed N] [PROGRAM...]

Every test runs in a process of its own: once to count its points (open, fstat, pread, mmap, mlock, madvise,
pthread_create), then once for each point, or for N points of it that the seed chooses. The test may pass, fail, or
abort by its own check (the failed call is not recorded then); a sanitizer's report, another signal, or no end within
TIMEOUT is a finding. Prints a row for each program, and ends with 1 after findings. A build with
-DEXECUTORCH_SANITIZE=address,undefined also reports leaks. Without PROGRAM: all that the folder has. Faults of
delegates, allocators, loaders and the heap: every_fault_test.cpp and test/memory."""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 60
"""Seconds that a test may take while something fails; without faults, tests that take longer are left out."""
ABORTED = -6
SANITIZER_REPORTS = ("AddressSanitizer", "LeakSanitizer", "runtime error:")
INJECTING = ("faults_test", "memory_test")
"""Programs that inject faults themselves."""


ENDS_OF_TESTS = ("passed", "failed", "aborted")


class Runner:
    """Runs one test of a program at a time, with the library that injects faults."""

    def __init__(self, library: Path, scratch: Path) -> None:
        self._report = scratch / "report"
        self._environment = os.environ | {"EXECUTORCH_FAULT_REPORT": str(self._report)}
        self._environment["LD_PRELOAD"] = str(library)
        # AddressSanitizer's library follows this one; each calls the next definition of what both replace.
        self._environment["ASAN_OPTIONS"] = "verify_asan_link_order=0"

    def run(self, program: Path, test: str, point: int) -> tuple[str, int, str]:
        """The outcome of a test while a point fails, the number of points it passed, and the failed call."""
        self._report.unlink(missing_ok=True)
        command = [str(program), f"--gtest_filter={test}", "--gtest_brief=1"]
        environment = self._environment | {"EXECUTORCH_FAIL_AT": str(point)}
        try:
            ended = subprocess.run(command, env=environment, capture_output=True, errors="replace", timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            return "hang", 0, ""
        points, call = 0, ""
        if self._report.exists():
            number, _, call = self._report.read_text().strip().partition(" ")
            points = int(number)
        if any(mark in ended.stderr for mark in SANITIZER_REPORTS):
            return "sanitizer", points, call
        if ended.returncode in (0, 1):
            return ("passed", "failed")[ended.returncode], points, call
        return "aborted" if ended.returncode == ABORTED else f"status {ended.returncode}", points, call


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


def examine(runner: Runner, program: Path, most: int, choice: random.Random) -> int:
    """Run every test of the program at its points, print its row and each finding, and return the findings' number."""
    tests, points = 0, 0
    outcomes: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    for test in tests_of(program):
        outcome, count, _ = runner.run(program, test, sys.maxsize)
        if outcome != "passed":
            print(f"{program.name}: {test} left out: {outcome} without faults", flush=True)
            continue
        tests += 1
        points += count
        for point in sorted(choice.sample(range(count), min(count, most))):
            outcome, _, call = runner.run(program, test, point)
            outcomes[outcome] += 1
            calls[call or "not recorded"] += 1
            if outcome not in ENDS_OF_TESTS:
                print(f"FINDING {program.name} --gtest_filter={test}, point {point}, {call}: {outcome}", flush=True)
    print(f"{program.name}: {tests} tests, {points} points; {dict(outcomes)}; {dict(calls)}", flush=True)
    return outcomes.total() - sum(outcomes[end] for end in ENDS_OF_TESTS)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/sanitized")
    parser.add_argument("--points", type=int, default=sys.maxsize)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()
    folder = options.build / "test"
    names = options.programs or sorted(path.name for path in folder.glob("*_test") if path.name not in INJECTING)
    findings = 0
    with tempfile.TemporaryDirectory() as scratch:
        runner = Runner(folder / "libfaults_preloaded.so", Path(scratch))
        for name in names:
            findings += examine(runner, folder / name, options.points, random.Random(options.seed))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
