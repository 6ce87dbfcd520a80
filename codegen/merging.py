# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Merge the yaml of two kernel libraries; the second serves the operators that the first lacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from executorch.codegen.binding import own_namespace, portable_rows
from executorch.codegen.library_yaml import operator_names, read_library


def merge_libraries(functions_yaml: Path, fallback_yaml: Path, output: Path) -> None:
    """Write the entries of ``functions_yaml``, then those of ``fallback_yaml`` for other operators, to ``output``.

    Merged kernels name their C++ namespace explicitly, because the default depends on the yaml's location.

    Raises:
        CodegenError: for a file that is not the yaml of a kernel library; names file and line.
    """
    preferred = set(operator_names(functions_yaml))
    merged = _explicit_entries(functions_yaml)
    merged += [(name, entry) for name, entry in _explicit_entries(fallback_yaml) if name not in preferred]
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(yaml.safe_dump([entry for _, entry in merged], sort_keys=False, width=1000))


def _explicit_entries(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Operator → entries of a yaml, whose kernels are named with a C++ namespace."""
    namespace = own_namespace(path)
    functions = {row.schema.qualified_name: row.function for row in read_library(path, namespace, portable_rows())}
    entries = []
    for name, entry in zip(operator_names(path), yaml.safe_load(path.read_text()) or [], strict=True):
        kernels = entry.get("kernels", [{"arg_meta": None, "kernel_name": functions[name]}])
        scope = namespace or f"{name.partition('::')[0]}::native"
        for kernel in kernels:
            if "::" not in kernel["kernel_name"]:
                kernel["kernel_name"] = f"{scope}::{kernel['kernel_name']}"
        entries.append((name, {**entry, "kernels": kernels}))
    return entries
