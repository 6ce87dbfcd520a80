# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`profile`: run a program with tracing and rank its operators by time."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from executorch.devtools.command.arguments import (
    Command,
    add_model,
    add_runs,
    load_inputs,
    load_model,
    load_record,
    number,
    progress,
    read_program,
)
from executorch.devtools.inspector.steps import (
    STEP_KEYS,
    Step,
    attributed_share,
    run_count,
    steps_of,
    totals,
    whole_time,
)

_DESCRIPTION = """\
Runs a program on random inputs of its declared sizes and ranks its operators by time:

  python -m executorch.devtools profile model.pte
  python -m executorch.devtools profile model.pte --runs 200 --threads 1 --inputs data.py:inputs

With the ETRecord of the export (beside the program, or --etrecord PATH) or with --model, it names the model's
operators, modules and source lines:

  python -m executorch.export my_model.py:make --etrecord -o model.pte
  python -m executorch.devtools profile model.pte --by module
  python -m executorch.devtools profile model.pte --model my_model.py:make --by line
"""


def _add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("program", metavar="FILE.pte", help="the program")
    add_model(parser)
    add_runs(parser, 50)
    parser.add_argument("--by", choices=tuple(STEP_KEYS), default="operator", help="sum times by (default: operator)")
    parser.add_argument("--top", type=number, default=25, metavar="N", help="number of rows (default: 25)")
    parser.add_argument("--trace", metavar="FILE.etdp", help="file for the trace, which inspect and report read")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--tsv", action="store_true", help="print a tab-separated table, for spreadsheets")
    shape.add_argument("--json", action="store_true", help="every step, as JSON")


def _run(options: argparse.Namespace) -> int:
    from torch.utils._pytree import tree_leaves

    from executorch.devtools.analysis.run_analysis import blocks_with_sources
    from executorch.devtools.comparison.relower import check_alike, lower_as
    from executorch.devtools.etdump.recording import random_inputs, record_runs
    from executorch.devtools.inspector.steps import execution_of

    data = read_program(options.program)
    user = load_model(options, data)
    record = load_record(options, data)
    inputs = load_inputs(options) if user is None else user.inputs
    if user is not None and record is None:
        lowered = user.lower(user.model) if user.lower else lower_as(data, user.model, options.method)
        check_alike(lowered, data, options.method)
        record = lowered.get_etrecord()
    recording = record_runs(
        data,
        random_inputs(data, options.method) if inputs is None else tree_leaves(inputs),
        method=options.method,
        runs=options.runs,
        warm_up=options.warm_up,
        threads=options.threads,
        progress=progress("runs"),
    )
    if options.trace:
        Path(options.trace).write_bytes(recording.etdump)
    block = execution_of(blocks_with_sources(recording.trace, record, options.method))
    steps = steps_of(block)
    if options.json:
        print(json.dumps({"milliseconds": whole_time(block), "steps": [asdict(step) for step in steps]}, indent=1))
        return 0
    _print(options, steps, whole_time(block), run_count(block))
    return 0


def _print(options: argparse.Namespace, steps: Sequence[Step], whole: float, runs: int) -> None:
    from tabulate import tabulate

    entries = totals(steps, STEP_KEYS[options.by])
    rows = [
        (total.key, total.calls, f"{total.time:.4f}", f"{100 * total.share:.1f}", "; ".join(total.ran[:2]))
        for total in entries[: options.top]
    ]
    heads = (options.by, "calls", "ms", "%", "ran as")
    if options.tsv:
        print("\n".join("\t".join(map(str, row)) for row in (heads, *rows)))
        return
    print(tabulate(rows, headers=heads, colalign=("left", "right", "right", "right", "left"), disable_numparse=True))
    if len(entries) > len(rows):
        print(f"and {len(entries) - len(rows)} more (--top N)")
    attributed = f"{100 * attributed_share(steps):.1f} % of it attributed to the model's operators and modules"
    print(f"\n{whole:.4f} ms on average of {runs} runs; {attributed}")


PROFILE = Command("profile", "run a program and rank its operators by time", _DESCRIPTION, _add, _run)
