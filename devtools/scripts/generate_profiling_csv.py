# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The events of a trace as a CSV file: `python -m executorch.devtools.scripts.generate_profiling_csv`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from executorch.devtools.inspector import Inspector
from executorch.util.exit_code import exit_code


def generate_csv(etdump_path: str, output: str) -> None:
    """Write the table of a trace's events."""
    Inspector(etdump_path).to_dataframe().to_csv(output)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code: 1 if the trace cannot be read."""
    parser = argparse.ArgumentParser(description="Write the events of a trace as a CSV file.")
    parser.add_argument("--etdump_path", default="./model.etdump", help="the trace (%(default)s)")
    parser.add_argument("--output", default="./model_profiling.csv", help="the file to write (%(default)s)")
    options = parser.parse_args(arguments)
    code = exit_code(
        "generate_profiling_csv",
        lambda: generate_csv(options.etdump_path, options.output),
        (OSError, RuntimeError, ValueError),
    )
    if code == 0:
        print(f"Saved CSV to {options.output}")
    return code


if __name__ == "__main__":
    sys.exit(main())
