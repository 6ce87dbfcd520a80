# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented command that joins the files of `gen_oplist` to one selection."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from executorch.codegen.located_yaml import CodegenError
from executorch.codegen.selection import Selection, select_operators
from executorch.util.exit_code import exit_code

_FILE = "selected_operators.yaml"


def main(argv: Sequence[str] | None = None) -> int:
    """Join the selections of models or libraries to one selected_operators.yaml; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m executorch.codegen.tools.gen_all_oplist", description=main.__doc__)
    parser.add_argument("--output_dir", "--output-dir", type=Path, required=True, help=f"folder of {_FILE}")
    parser.add_argument(
        "--model_file_list_path",
        "--model-file-list-path",
        required=True,
        help=f"a selection; or @FILE, which lists selections, or folders of a {_FILE}, separated by white space",
    )
    parser.add_argument(
        "--allow_include_all_overloads",
        "--allow-include-all-overloads",
        action="store_true",
        help="changes nothing: a selection names overloads one by one",
    )
    parser.add_argument(
        "--check_ops_not_overlapping",
        "--check-ops-not-overlapping",
        action="store_true",
        help="refuse an operator that two selections contain",
    )
    options = parser.parse_args(argv)

    def write() -> None:
        paths = _selections(options.model_file_list_path)
        if options.check_ops_not_overlapping:
            _refuse_overlaps(paths)
        options.output_dir.mkdir(parents=True, exist_ok=True)
        select_operators(yaml_paths=paths).save(options.output_dir / _FILE)

    return exit_code("gen_all_oplist", write)


def _selections(argument: str) -> list[Path]:
    if not argument.startswith("@"):
        return [Path(argument)]
    try:
        paths = [Path(word) for word in Path(argument[1:]).read_text(encoding="utf-8").split()]
    except UnicodeDecodeError as error:
        raise CodegenError(f"{argument[1:]}: expected the paths of selections, found other bytes: {error}") from error
    if not paths:
        raise CodegenError(f"{argument[1:]}: expected the paths of selections, found none")
    return [path / _FILE if path.is_dir() else path for path in paths]


def _refuse_overlaps(paths: Sequence[Path]) -> None:
    first: dict[str, Path] = {}
    for path in paths:
        for name in Selection.load(path).operators:
            if name in first:
                raise CodegenError(f"{path}: operator {name} is in {first[name]} too")
            first[name] = path


if __name__ == "__main__":
    sys.exit(main())
