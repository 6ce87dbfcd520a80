# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`python -m executorch.devtools COMMAND …`: the tools as commands."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from executorch.devtools.size import __main__ as size

if TYPE_CHECKING:
    from executorch.devtools.inspector import Inspector

_INSPECT = """\
What ran how long, from a trace:

  executor_runner --model_path model.pte --etdump_path trace.etdp --num_executions 100
  python -m executorch.devtools inspect trace.etdp

With the record of the export (to_edge(…, generate_etrecord=True), get_etrecord().save("record")) each event
says the model's operators and modules as well:

  python -m executorch.devtools inspect trace.etdp --record record
"""


def _inspector(options: argparse.Namespace) -> Inspector:
    from executorch.devtools.inspector import Inspector, TimeScale

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = Inspector(
            options.trace,
            etrecord=options.record,
            target_time_scale=TimeScale(options.unit),
            method_name=options.method,
        )
    for each in caught:
        print(f"inspect: {each.message}", file=sys.stderr)
    return found


def _inspect(options: argparse.Namespace) -> int:
    try:
        found = _inspector(options)
    except (OSError, RuntimeError, ValueError) as error:
        print(f"inspect: {options.trace}: {error}", file=sys.stderr)
        return 1
    if options.module is not None:
        print(f"{options.module}: {found.find_total_for_module(options.module):.6g} {options.unit}")
    elif options.json:
        frame = found.to_dataframe(include_units=False).drop(columns=["debug_data"])
        print(frame.to_json(orient="records", indent=1, default_handler=str))
    elif options.tsv:
        found.save_data_to_tsv(sys.stdout)
    else:
        found.print_data_tabular()
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["size"]:
        return size.main(given[1:])
    parser = argparse.ArgumentParser(prog="python -m executorch.devtools", description="Looks into programs and runs.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    commands.add_parser("size", help="where each byte of a .pte file goes")
    inspect = commands.add_parser(
        "inspect",
        help="what ran how long, of a trace (.etdp)",
        description=_INSPECT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    inspect.add_argument("trace", metavar="TRACE.etdp")
    inspect.add_argument("--record", metavar="FILE", help="the ETRecord of the export")
    inspect.add_argument("--method", metavar="NAME", help="whose record is used (default: forward, or the only one)")
    inspect.add_argument("--unit", choices=("ns", "us", "ms", "s"), default="ms", help="of times (default: ms)")
    inspect.add_argument("--module", metavar="PATH", help="only the sum of times of a module's operators")
    shape = inspect.add_mutually_exclusive_group()
    shape.add_argument("--tsv", action="store_true", help="a table with tabs, for spreadsheets")
    shape.add_argument("--json", action="store_true", help="everything but values, as JSON")
    inspect.set_defaults(run=_inspect)
    options = parser.parse_args(given)
    status: int = options.run(options)
    return status


if __name__ == "__main__":
    sys.exit(main())
