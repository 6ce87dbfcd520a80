# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""``python -m executorch.codegen``: writes a kernel library's headers and registration from its yaml."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from executorch.codegen import sources
from executorch.codegen.library_yaml import KernelRow, LibraryYamlError, read_library

PORTABLE_YAML = Path(__file__).resolve().parent.parent / "kernels" / "portable" / "functions.yaml"
PORTABLE_NAMESPACE = "executorch::kernels::portable"


def select(rows: Sequence[KernelRow], wanted: Sequence[str]) -> list[KernelRow]:
    """The rows of the operators ``wanted`` (qualified names), all if empty. Raises ``LibraryYamlError`` for others."""
    if not wanted:
        return list(rows)
    known = {row.schema.qualified_name for row in rows}
    missing = sorted(set(wanted) - known)
    if missing:
        raise LibraryYamlError(f"the library has no kernel for {', '.join(missing)}")
    return [row for row in rows if row.schema.qualified_name in set(wanted)]


def write_if_changed(path: Path, text: str) -> None:
    """Leaves an unchanged file alone, so that nothing is rebuilt for it."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line entry point; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m executorch.codegen", description=__doc__)
    parser.add_argument("--yaml", type=Path, required=True, help="the library's functions.yaml")
    parser.add_argument("--namespace", default=PORTABLE_NAMESPACE, help="C++ namespace of kernels named by rule")
    parser.add_argument("--library", required=True, help="name of the generated table, e.g. portable_kernels")
    parser.add_argument("--out", type=Path, required=True, help="folder that stands for the include root")
    parser.add_argument(
        "--include", required=True, help="include path of the headers, e.g. executorch/kernels/portable"
    )
    parser.add_argument("--ops", default="", help="comma-separated operators to register (default: all of the yaml)")
    parser.add_argument("--overrides", action="store_true", help="take precedence over tables without this flag")
    options = parser.parse_args(arguments)
    try:
        portable = read_library(PORTABLE_YAML, PORTABLE_NAMESPACE, {})
        known = {row.schema.qualified_name: row.schema for row in portable}
        rows = read_library(options.yaml, options.namespace, known)
        chosen = select(rows, [name for name in options.ops.split(",") if name])
        source = f"{options.include}/{options.yaml.name}"
        native_header = f"{options.include}/NativeFunctions.h"
        folder = options.out / options.include
        table = sources.registration(chosen, source, native_header, options.library, options.overrides)
        write_if_changed(folder / "NativeFunctions.h", sources.native_functions(rows, source))
        write_if_changed(folder / "Functions.h", sources.functions(rows, source, native_header))
        write_if_changed(folder / "RegisterKernels.cpp", table)
    except (LibraryYamlError, OSError, ValueError) as e:
        print(f"codegen: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
