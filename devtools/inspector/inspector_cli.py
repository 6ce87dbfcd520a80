# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`python -m executorch.devtools.inspector.inspector_cli`: print a trace's table; ExecuTorch's name and options.

`python -m executorch.devtools inspect` has more."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from executorch.devtools.inspector import Inspector, TimeScale, compare_results
from executorch.util.exit_code import exit_code


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return the exit status: 1 if a file cannot be read."""
    options = _parser().parse_args(arguments)
    return exit_code("inspector_cli", lambda: _show(options), (OSError, RuntimeError, ValueError))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Shows the events of a trace; see also python -m executorch.devtools inspect."
    )
    parser.add_argument("--etdump_path", required=True, metavar="FILE", help="the trace (.etdp)")
    parser.add_argument("--etrecord_path", metavar="FILE", help="the ETRecord of the export")
    parser.add_argument("--debug_buffer_path", metavar="FILE", help="the recorded values")
    units = [scale.value for scale in TimeScale]
    parser.add_argument("--source_time_scale", choices=units, default="ns", help="the trace's unit (default: ns)")
    parser.add_argument("--target_time_scale", choices=units, default="ms", help="the table's unit (default: ms)")
    parser.add_argument("--tsv_path", metavar="FILE", help="also write the table, separated by tabs")
    parser.add_argument("--compare_results", action="store_true", help="compare outputs with those of the record")
    return parser


def _show(options: argparse.Namespace) -> None:
    inspector = Inspector(
        etdump_path=options.etdump_path,
        etrecord=options.etrecord_path,
        debug_buffer_path=options.debug_buffer_path,
        source_time_scale=TimeScale(options.source_time_scale),
        target_time_scale=TimeScale(options.target_time_scale),
    )
    inspector.print_data_tabular()
    if options.tsv_path:
        with open(options.tsv_path, "w", encoding="utf-8") as file:
            inspector.save_data_to_tsv(file)
    if options.compare_results:
        compared = [block for block in inspector.event_blocks if block.reference_output and block.run_output]
        if not compared:
            raise ValueError(
                "--compare_results: expected recorded outputs (--debug_buffer_path) and their reference outputs in the "
                "record (--etrecord_path); found none"
            )
        for block in compared:
            compare_results(block.reference_output, block.run_output or ())


if __name__ == "__main__":
    sys.exit(main())
