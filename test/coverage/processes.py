# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A process for each case, forked from this one, which has imported the libraries: it may die or be stopped alone."""

from __future__ import annotations

import contextlib
import multiprocessing as mp
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait

from .case import Case
from .record import Outcome, Record

Attempt = Callable[[Case, str], Record]


@dataclass
class _Worker:
    process: mp.process.BaseProcess
    results: Connection
    case: Case
    ways: list[str]
    deadline: float


def attempts(
    work: Iterable[tuple[Case, Sequence[str]]], attempt: Attempt, jobs: int, limit: float, until: float | None = None
) -> Iterator[Record]:
    """The records of all ways of all cases, as they come. limit: seconds for one attempt. until: a `time.monotonic`
    after which no further case begins."""
    waiting = iter(work)
    running: list[_Worker] = []
    exhausted = False
    while running or not exhausted:
        while len(running) < jobs and not exhausted:
            following = next(waiting, None) if until is None or time.monotonic() < until else None
            if following is None:
                exhausted = True
                break
            case, ways = following
            running.append(_start(case, list(ways), attempt, limit))
        ready = wait([one.results for one in running], timeout=0.5) if running else []
        for worker in list(running):
            if worker.results in ready:
                try:
                    record = worker.results.recv()
                except (EOFError, OSError):
                    worker.process.join(5)
                    yield _failed(worker, Outcome.DIED, f"the process ended with {worker.process.exitcode}")
                else:
                    yield record
                    worker.ways.remove(record.way)
                    worker.deadline = time.monotonic() + limit
                    if worker.ways:
                        continue
            elif time.monotonic() > worker.deadline:
                yield _failed(worker, Outcome.TIMED_OUT, f"not done after {limit:g} s")
            else:
                continue
            _stop(worker)
            running.remove(worker)
            if worker.ways:
                running.append(_start(worker.case, worker.ways, attempt, limit))


def _failed(worker: _Worker, outcome: Outcome, message: str) -> Record:
    way = worker.ways.pop(0)
    return Record(worker.case.suite, worker.case.name, way, outcome, message)


def _start(case: Case, ways: list[str], attempt: Attempt, limit: float) -> _Worker:
    results, sender = mp.Pipe(duplex=False)
    process = mp.get_context("fork").Process(target=_run, args=(case, list(ways), attempt, sender))
    process.start()
    sender.close()
    return _Worker(process, results, case, ways, time.monotonic() + limit)


def _run(case: Case, ways: list[str], attempt: Attempt, sender: Connection) -> None:
    os.setpgrp()
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    for way in ways:
        sender.send(attempt(case, way))
    sender.close()


def _stop(worker: _Worker) -> None:
    if worker.process.pid is not None and worker.process.is_alive():
        with contextlib.suppress(ProcessLookupError):  # it has ended, or has no group yet
            os.killpg(worker.process.pid, signal.SIGKILL)
        worker.process.kill()
    worker.process.join()
    worker.results.close()
