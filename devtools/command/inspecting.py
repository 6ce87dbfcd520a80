# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`inspect`: print a trace's events as a table."""

from __future__ import annotations

import argparse
import sys
import warnings
from typing import TYPE_CHECKING

from executorch.devtools.command.arguments import Command, add_record

if TYPE_CHECKING:
    from executorch.devtools.inspector import Inspector

_DESCRIPTION = """\
Prints the events of a trace with their times:

  executor_runner --model_path model.pte --etdump_path trace.etdp --num_executions 100
  python -m executorch.devtools inspect trace.etdp

With the ETRecord of the export (to_edge(…, generate_etrecord=True), get_etrecord().save("record")), each event also
names the model's operators and modules:

  python -m executorch.devtools inspect trace.etdp --record record
"""


def _add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", metavar="TRACE.etdp", help="the trace of a run")
    add_record(parser)
    parser.add_argument("--method", metavar="NAME", help="method of the record (default: forward, or the only one)")
    parser.add_argument("--unit", choices=("ns", "us", "ms", "s"), default="ms", help="unit of times (default: ms)")
    parser.add_argument("--module", metavar="PATH", help="print only the total time of a module's operators")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--tsv", action="store_true", help="print a tab-separated table, for spreadsheets")
    shape.add_argument("--json", action="store_true", help="print events without values as JSON")


def _inspector(options: argparse.Namespace) -> Inspector:
    from executorch.devtools.inspector import Inspector, TimeScale

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        inspector = Inspector(
            options.trace,
            etrecord=options.record,
            target_time_scale=TimeScale(options.unit),
            method_name=options.method,
        )
    for warning in caught:
        print(f"inspect: {warning.message}", file=sys.stderr)
    return inspector


def _check_module(inspector: Inspector, name: str, record: str | None) -> None:
    if record is None:
        raise ValueError("--module requires the ETRecord of the export: --record FILE")
    stacks = [
        stack for block in inspector.event_blocks for event in block.events for stack in event.module_hierarchy.values()
    ]
    paths = sorted({module[0] for stack in stacks for module in (stack or {}).values()} - {""})
    if not any(name in path for path in paths):
        raise ValueError(f"--module {name}: expected part of a module's path, found only {', '.join(paths) or 'none'}")


def _run(options: argparse.Namespace) -> int:
    inspector = _inspector(options)
    if options.module is not None:
        _check_module(inspector, options.module, options.record)
        print(f"{options.module}: {inspector.find_total_for_module(options.module):.6g} {options.unit}")
    elif options.json:
        frame = inspector.to_dataframe(include_units=False).drop(columns=["debug_data"], errors="ignore")
        print(frame.to_json(orient="records", indent=1, default_handler=str))
    elif options.tsv:
        inspector.save_data_to_tsv(sys.stdout)
    else:
        inspector.print_data_tabular()
    return 0


INSPECT = Command("inspect", "print the events of a trace (.etdp) with their times", _DESCRIPTION, _add, _run)
