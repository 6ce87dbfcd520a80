# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Run each case in a process forked from this one, which has imported the libraries: a crash ends only that case."""

from __future__ import annotations

import contextlib
import math
import multiprocessing as mp
import os
import resource
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait

from .case import Case
from .record import Outcome, Record

Attempt = Callable[[Case, str], Record]
_PATIENCE = 4.0  # how much longer an attempt may take than it may compute, on a machine with other work


@dataclass
class _Worker:
    process: mp.process.BaseProcess
    results: Connection
    case: Case
    ways: list[str]
    deadline: float


def attempts(
    work: Iterable[tuple[Case, Sequence[str]]],
    attempt: Attempt,
    jobs: int,
    limit: float,
    until: float | None = None,
    patience: float = _PATIENCE,
) -> Iterator[Record]:
    """The records of all ways of all cases, as they come. limit: processor seconds for one attempt, which may take
    `patience` times as long. until: a `time.monotonic` after which no further case begins."""
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
            running.append(_start(case, list(ways), attempt, limit, patience))
        ready = wait([one.results for one in running], timeout=0.5) if running else []
        for worker in list(running):
            if worker.results in ready:
                try:
                    record = worker.results.recv()
                except (EOFError, OSError):
                    worker.process.join(5)
                    if worker.process.exitcode == -signal.SIGXCPU:
                        yield _failed(worker, Outcome.TIMED_OUT, f"not done after {limit:g} s of processor time")
                    else:
                        yield _failed(worker, Outcome.DIED, f"the process ended with {worker.process.exitcode}")
                else:
                    yield record
                    worker.ways.remove(record.way)
                    worker.deadline = time.monotonic() + patience * limit
                    if worker.ways:
                        continue
            elif time.monotonic() > worker.deadline:
                yield _failed(worker, Outcome.TIMED_OUT, f"not done after {patience * limit:g} s")
            else:
                continue
            _stop(worker)
            running.remove(worker)
            if worker.ways:
                running.append(_start(worker.case, worker.ways, attempt, limit, patience))


def _failed(worker: _Worker, outcome: Outcome, message: str) -> Record:
    way = worker.ways.pop(0)
    return Record(worker.case.suite, worker.case.name, way, outcome, message, rule=worker.case.rule.label)


def _start(case: Case, ways: list[str], attempt: Attempt, limit: float, patience: float) -> _Worker:
    results, sender = mp.Pipe(duplex=False)
    process = mp.get_context("fork").Process(target=_run, args=(case, list(ways), attempt, limit, sender))
    process.start()
    sender.close()
    return _Worker(process, results, case, ways, time.monotonic() + patience * limit)


def _run(case: Case, ways: list[str], attempt: Attempt, limit: float, sender: Connection) -> None:
    os.setpgrp()
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    for way in ways:
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + limit), most))
        sender.send(attempt(case, way))
    sender.close()


def _stop(worker: _Worker) -> None:
    if worker.process.pid is not None and worker.process.is_alive():
        with contextlib.suppress(ProcessLookupError):  # it has ended, or has no group yet
            os.killpg(worker.process.pid, signal.SIGKILL)
        worker.process.kill()
    worker.process.join()
    worker.results.close()
