# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Lower, run and compare every architecture of the suites, and record the outcomes.

``python -m test.coverage [--suites NAME ...] [--ways NAME ...] [--match REGEX] [--rule NAME] [--seed N]
[--results FILE] [--page FILE]``

An interrupted run goes on where it was: records that ``--results`` has are not made again (``--again`` makes those that
did not match). ``--rule odd`` makes models with widths that are not multiples of 8, three layers, other lengths and
other sizes of images. ``--sample SECONDS`` tries a part of the cases that matched, which the commit chooses, and
fails if one does not match any more. ``--peer PYTHON`` names an interpreter with the peer installed, which is given
the same exported programs.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
import tqdm

from test.commit_part import commit

from .attempt import attempt, warm_up
from .case import Case
from .page import write_page
from .peer import Peer
from .processes import attempts
from .record import Outcome, Record, Records
from .rule import RULES
from .suites import SUITES
from .ways import WAYS

KEPT = Path(__file__).parent / "results.jsonl"
_SHARE = 6  # of the time of a sample, that one attempt may have taken


def main() -> int:
    options = _options()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    tqdm.tqdm.monitor_interval = 0  # a thread, which forked processes would lack
    pattern = re.compile(options.match)
    rule = replace(RULES[options.rule], seed=options.seed)
    cases = [one for suite in options.suites for one in SUITES[suite](rule) if pattern.search(one.key)]
    warm_up(options.ways)
    if options.sample:
        return _sample(cases, options)
    records = Records(options.results)
    if options.shuffle is not None:
        random.Random(options.shuffle).shuffle(cases)
    work = list(_missing(cases, options.ways, records, options.again))
    attempt_one = partial(attempt, on_exported=Peer(options.peer) if options.peer else _no_peer)
    bar = tqdm.tqdm(total=sum(len(ways) for _, ways in work), desc="attempts", smoothing=0.02)
    misses = 0
    for record in attempts(work, attempt_one, options.jobs, options.limit):
        records.add(record)
        bar.update()
        if record.outcome.counted and record.outcome is not Outcome.MATCHED:
            misses += 1
            bar.write(_line(record))
    bar.close()
    records.rewrite()
    if options.page:
        write_page(records, options.page)
    print(f"{len(records)} records in {options.results}, {misses} new misses")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m test.coverage", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suites", nargs="+", choices=list(SUITES), default=list(SUITES))
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--match", default="", metavar="REGEX", help="of SUITE/NAME")
    parser.add_argument(
        "--results", type=Path, default=KEPT, help="JSON lines, read and continued (default: %(default)s)"
    )
    parser.add_argument("--page", type=Path, help="the page of the documentation to write")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument(
        "--limit", type=float, default=180.0, help="processor seconds for one attempt (default: %(default)s)"
    )
    parser.add_argument("--again", action="store_true", help="make attempts again that did not match")
    parser.add_argument(
        "--shuffle", type=int, metavar="SEED", help="take the cases in random order: an unfinished run is a sample"
    )
    parser.add_argument("--rule", choices=list(RULES), default="small", help="by which models are made small")
    parser.add_argument("--seed", type=int, default=0, help="of weights, arguments and the choice of torch's samples")
    parser.add_argument("--sample", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--peer", metavar="PYTHON")
    return parser.parse_args()


def _no_peer(*_: object) -> None:
    """Stand in for the peer without `--peer`."""


def _missing(cases: list[Case], ways: list[str], records: Records, again: bool) -> Iterator[tuple[Case, list[str]]]:
    matched = {one.key for one in records if one.outcome is Outcome.MATCHED}
    for case in cases:
        keys = {way: (case.suite, case.name, way, case.rule.label) for way in ways}
        wanted = [way for way, key in keys.items() if key not in records or (again and key not in matched)]
        if wanted:
            yield case, wanted


def _sample(cases: list[Case], options: argparse.Namespace) -> int:
    """Try a part of the matches in the kept results again, chosen by the commit. Return 1 if one is lost; an attempt
    that reaches the time limit on a slow machine is not. Matches that took more than a sixth of the time, or whose
    time is unknown, are left out and counted: two long ones would be most of the sample."""
    kept = [one for one in Records(KEPT) if one.outcome is Outcome.MATCHED]
    matched = {one.key for one in kept if 0 < one.attempt_cpu_seconds <= options.sample / _SHARE}
    choose = random.Random(commit())
    work: list[tuple[Case, list[str]]] = []
    for case in choose.sample(cases, len(cases)):
        if ways := [way for way in options.ways if (case.suite, case.name, way, case.rule.label) in matched]:
            work.append((case, [choose.choice(ways)]))
    records: list[Record] = []
    attempt_one = partial(attempt, on_exported=_no_peer)
    for record in attempts(work, attempt_one, options.jobs, options.limit, time.monotonic() + options.sample):
        records.append(record)
        if record.outcome is not Outcome.MATCHED:
            print(_line(record), file=sys.stderr)
    lost = [one for one in records if one.outcome not in (Outcome.MATCHED, Outcome.TIMED_OUT)]
    print(
        f"{len(records)} of {len(work)} cases that matched tried again, {len(lost)} do not match any more; "
        f"{len(kept) - len(matched)} left out, which took more than {options.sample / _SHARE:g} s or have no time"
    )
    return 1 if lost else 0


def _line(record: Record) -> str:
    way = ", ".join(filter(None, (record.way, record.rule)))
    return f"{record.suite}/{record.name} [{way}] {record.outcome.value}: {record.message[:300]}"


if __name__ == "__main__":
    sys.exit(main())
