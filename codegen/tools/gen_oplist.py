# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented command that writes selected_operators.yaml (`python -m executorch.codegen select`)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from executorch.codegen.selection import select_operators
from executorch.codegen.tools.operator_dtypes import read_operator_dtypes
from executorch.util.exit_code import exit_code


def main(args: Sequence[str] | None = None) -> int:
    """Write the operators of a program, a table or a list; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m executorch.codegen.tools.gen_oplist", description=main.__doc__)
    parser.add_argument("--output_path", type=Path, required=True, help="the selected_operators.yaml to write")
    parser.add_argument("--model_file_path", type=Path, help="a .pte file")
    parser.add_argument("--ops_schema_yaml_path", type=Path, help="a yaml that lists operators")
    parser.add_argument("--root_ops", default="", help="comma-separated operators")
    parser.add_argument(
        "--ops_dict", default="{}", help='JSON: operator → list of dtypes or kernel keys, {"aten::add.out": ["Float"]}'
    )
    parser.add_argument(
        "--include-all-operators",
        "--include_all_operators",
        action="store_true",
        help="all operators",
    )
    options = parser.parse_args(args)
    tables = [options.ops_schema_yaml_path] if options.ops_schema_yaml_path else []
    models = [options.model_file_path] if options.model_file_path else []

    def write() -> None:
        selection = select_operators(
            options.root_ops.split(","),
            tables,
            models,
            include_all=options.include_all_operators,
            operator_dtypes=read_operator_dtypes(options.ops_dict),
        )
        selection.save(options.output_path)

    return exit_code("gen_oplist", write)


if __name__ == "__main__":
    sys.exit(main())
