# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Faults in the whole suite: what its command keeps, and how it counts."""

import os
import random
import stat
from pathlib import Path

import pytest

from test.faults.whole_suite import LIBRARY, ROOT, Journal, Outcome, Row, Runner, aborted_by_a_test, main

POINTS = 5
TEST, CHECK = "/test/runtime/core/dim_order_test.cpp", "include/executorch/runtime/core/result.h"

PROGRAM = """#!/bin/sh
if [ "$1" = --gtest_list_tests ]; then echo Suite.; echo "  Test"; exit 0; fi
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "some_test"
    path.write_text(PROGRAM)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


class Counting(Runner):
    """Counts the runs; point 3 ends in a sanitizer's report."""

    def __init__(self, scratch: Path) -> None:
        super().__init__(scratch / "library", scratch)
        self.runs = 0

    def run(self, program: Path, test: str, point: int) -> Outcome:
        self.runs += 1
        return Outcome("sanitizer" if point == 3 else "passed", POINTS, "open" if point < POINTS else "")


def examine_all(program: Path, journal: Journal) -> Row:
    row = Row(program)
    for _, test, point in list(row.cases(journal, POINTS, random.Random(0))):
        row.examine(journal, test, point)
    return row


def test_every_point_fails_once_and_what_a_sanitizer_reports_is_a_finding(program: Path, tmp_path: Path) -> None:
    row = examine_all(program, Journal(Counting(tmp_path), None))
    assert (row.tests, row.points, row.ends.total(), row.findings) == (1, POINTS, POINTS, 1)
    assert row.calls == {"open": POINTS}


def test_a_later_run_takes_the_outcomes_of_an_earlier_one_from_the_journal(program: Path, tmp_path: Path) -> None:
    runner = Counting(tmp_path)
    earlier = examine_all(program, Journal(runner, tmp_path / "journal"))
    assert runner.runs == 1 + POINTS
    assert examine_all(program, Journal(runner, tmp_path / "journal")) == earlier
    assert runner.runs == 1 + POINTS


def test_a_line_that_an_interruption_cut_off_is_run_again(program: Path, tmp_path: Path) -> None:
    runner, path = Counting(tmp_path), tmp_path / "journal"
    earlier = examine_all(program, Journal(runner, path))
    whole = path.read_text()
    path.write_text(whole[:-5])
    assert examine_all(program, Journal(runner, path)) == earlier
    assert runner.runs == 2 + POINTS
    assert path.read_text() == whole


def test_a_build_without_programs_or_points_is_an_error(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "build/test"
    arguments = ["--build", str(tmp_path / "build"), "--journal", str(tmp_path / "journal")]
    expected = [f"{LIBRARY} is not built", f"{folder} has no test programs", "has no test program: other_test"]
    assert main(arguments) == 2
    assert expected[0] in capsys.readouterr().err
    folder.mkdir(parents=True)
    (folder / LIBRARY).touch()
    assert main(arguments) == 2
    assert expected[1] in capsys.readouterr().err
    program.rename(folder / program.name)
    assert main([*arguments, "some_test", "other_test"]) == 2
    assert expected[2] in capsys.readouterr().err
    assert main(arguments) == 2
    assert "no point was tried" in capsys.readouterr().err


def test_tests_are_counted_until_the_time_is_over(program: Path, tmp_path: Path) -> None:
    row = Row(program)
    assert not list(row.cases(Journal(Counting(tmp_path), None), POINTS, random.Random(0), end=0))
    assert (row.tests, row.uncounted) == (0, 1)


def test_outcomes_of_a_program_that_was_built_again_do_not_count(program: Path, tmp_path: Path) -> None:
    runner = Counting(tmp_path)
    examine_all(program, Journal(runner, tmp_path / "journal"))
    os.utime(program, ns=(1, 1))
    examine_all(program, Journal(runner, tmp_path / "journal"))
    assert runner.runs == 2 * (1 + POINTS)


@pytest.mark.parametrize(
    ("files", "is_harmless"),
    [
        (["stdlib/abort.c:9", "../../runtime/platform/platform.cpp:84", f"{CHECK}:62", f"/other{TEST}:20:5"], True),
        (["stdlib/abort.c:9", f"{CHECK}:62", f"{ROOT}/extension/module/module.cpp:7", f"{ROOT}{TEST}:20"], False),
        (["../sysdeps/posix/raise.c:26", "../../extension/threadpool/worker_pool.cpp:9"], False),
        (["stdlib/abort.c:9"], False),
        ([], False),
    ],
    ids=["a check of a test", "a check of the product", "a library", "a library alone", "no stack"],
)
def test_an_abort_is_harmless_only_if_a_test_asks_for_it(files: list[str], is_harmless: bool) -> None:
    frames = [f"    #{i} 0x7f00 in function(int) {file}" for i, file in enumerate(files)]
    assert aborted_by_a_test("\n".join(["ERROR: AddressSanitizer: ABRT on unknown address", *frames])) == is_harmless
