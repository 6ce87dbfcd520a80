# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Short form of `python -m test.soak`: a leak in each execution shows after a few thousand executions."""

from __future__ import annotations

from soak import Report, Window, soak


def test_memory_files_and_threads_stay_the_same_over_thousands_of_executions() -> None:
    report = soak(executions=6_000, windows=12)
    assert [fault for fault in report.faults() if not fault.startswith("latency")] == []


def test_growth_is_reported() -> None:
    windows = [Window(i, i << 20, 10 + i, 4 + i, 1e-5 if i < 5 else 2e-5) for i in range(8)]
    assert [fault.split(":")[0] for fault in Report(windows).faults()] == ["open files", "threads", "memory", "latency"]
    steady = [Window(i, 1 << 20, 10, 4, 1e-5) for i in range(8)]
    assert Report(steady).faults() == []
