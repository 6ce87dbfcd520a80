# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: ExecuTorch's command that merges two kernel tables; nothing inside the project imports it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from executorch.util.exit_code import exit_code


def merge(functions_yaml_path: str, fallback_yaml_path: str | None, output_dir: str) -> None:
    """Write merged.yaml: all entries of the first table, then those of the second for operators that it lacks.

    Raises:
        ValueError: A table is not a list of entries with `op` or `func`.
    """
    entries: dict[str, Any] = {}
    for path in (functions_yaml_path, fallback_yaml_path):
        if path is None or (path == fallback_yaml_path and not Path(path).exists()):
            continue
        additions = {_operator(path, entry): entry for entry in yaml.safe_load(Path(path).read_text()) or []}
        entries |= {name: entry for name, entry in additions.items() if name not in entries}
    text = "\n".join(
        yaml.safe_dump([entry], default_flow_style=False, sort_keys=False, width=1000) for entry in entries.values()
    )
    (Path(output_dir) / "merged.yaml").write_text(text)


def _operator(path: str, entry: Any) -> str:
    """Return the operator of an entry, from `op` or from the schema in `func`."""
    name = entry.get("op", entry.get("func")) if isinstance(entry, dict) else None
    if not isinstance(name, str):
        raise ValueError(f"{path}: expected entries with 'op' or 'func', found {entry!r}")
    name = name.partition("(")[0]
    return name if "::" in name else f"aten::{name}"


def main(argv: Sequence[str] | None = None) -> int:
    """Merge two tables of kernels; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m executorch.codegen.tools.merge_yaml", description=main.__doc__)
    parser.add_argument(
        "--functions_yaml_path", "--functions-yaml-path", required=True, help="the table whose entries count"
    )
    parser.add_argument(
        "--fallback_yaml_path", "--fallback-yaml-path", help="the table for operators that the other one lacks"
    )
    parser.add_argument("--output_dir", required=True, help="folder of merged.yaml")
    options = parser.parse_args(argv)
    return exit_code(
        "merge_yaml",
        lambda: merge(options.functions_yaml_path, options.fallback_yaml_path, options.output_dir),
        (OSError, ValueError, yaml.YAMLError),
    )


if __name__ == "__main__":
    sys.exit(main())
