# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented command that writes the yaml of a kernel library for the operators of a program."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from executorch.codegen.library_yaml import schema_texts
from executorch.codegen.program_use import read_program_use
from executorch.codegen.schema import parse_schema
from executorch.codegen.source_table import KERNELS
from executorch.util.exit_code import exit_code


def main(args: Sequence[str] | None = None) -> int:
    """Write a functions.yaml with an entry for each operator that a program calls; return the exit code.

    Its kernel names are placeholders: write the names of your functions there.
    """
    parser = argparse.ArgumentParser(prog="python -m executorch.codegen.tools.gen_ops_def", description=main.__doc__)
    parser.add_argument("--output_path", type=Path, required=True, help="the functions.yaml to write")
    parser.add_argument("--model_file_path", type=Path, required=True, help="a .pte file")
    options = parser.parse_args(args)

    def write() -> None:
        entries = _entries(sorted(read_program_use(options.model_file_path).operators))
        options.output_path.parent.mkdir(parents=True, exist_ok=True)
        options.output_path.write_text(yaml.safe_dump(entries, sort_keys=False, width=1000))

    return exit_code("gen_ops_def", write)


def _entries(operators: Sequence[str]) -> list[dict[str, object]]:
    """Return an entry for each operator with a known schema, and warn of the others."""
    known = {name: text for path in KERNELS.glob("*/functions.yaml") for name, text in schema_texts(path).items()}
    entries: list[dict[str, object]] = []
    for operator in operators:
        if operator not in known:
            print(f"gen_ops_def: warning: no kernel library here has the schema of {operator}", file=sys.stderr)
            continue
        function = parse_schema(known[operator]).function_name
        kernel = {"arg_meta": None, "kernel_name": f"torch::executor::{function}"}
        entries.append({"func": known[operator], "kernels": [kernel]})
    return entries


if __name__ == "__main__":
    sys.exit(main())
