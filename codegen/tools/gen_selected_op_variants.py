# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Command that writes the dtypes of a selection for kernels of the user's own."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from executorch.codegen.dtypes import mask
from executorch.codegen.selection import Selection
from executorch.util.exit_code import exit_code

_FILE = "selected_op_variants.h"
_TEMPLATE = """\
// Written by executorch.codegen.tools.gen_selected_op_variants.
#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <string_view>

// Returns true if the programs of the selection need a kernel for a dtype. operator_name has no "aten::": "add.out".
inline constexpr bool should_include_kernel_dtype(
    [[maybe_unused]] const char* operator_name,
    [[maybe_unused]] executorch::aten::ScalarType scalar_type) {
@BODY@
}
"""


def write_selected_op_variants(yaml_file_path: str | Path, output_dir: str | Path) -> None:
    """Write selected_op_variants.h, in which `should_include_kernel_dtype` answers for the operators of a selection.

    Every dtype counts for operators without dtypes, and for all operators of a selection that includes all.
    Raises: CodegenError, if the selection is not readable.
    """
    selection = Selection.load(Path(yaml_file_path))
    folder = Path(output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _FILE).write_text(_TEMPLATE.replace("@BODY@", "\n".join(_body(selection))))


def _body(selection: Selection) -> list[str]:
    if selection.include_all:
        return ["  return true;"]
    lines = []
    for name in sorted(selection.operators):
        dtypes = selection.dtypes_of(name)
        test = f"(({mask(dtypes):#x}ull >> static_cast<int>(scalar_type)) & 1) != 0" if dtypes else "true"
        lines.append(
            f"  if (std::string_view(operator_name) == {json.dumps(name.removeprefix('aten::'))}) return {test};"
        )
    return [*lines, "  return false;"]


def main(argv: Sequence[str] | None = None) -> int:
    """Write selected_op_variants.h from a selected_operators.yaml of gen_oplist; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m executorch.codegen.tools.gen_selected_op_variants", description=main.__doc__
    )
    parser.add_argument("--yaml_file_path", "--yaml-file-path", type=Path, required=True, help="the selection")
    parser.add_argument("--output_dir", "--output-dir", type=Path, required=True, help=f"folder of {_FILE}")
    options = parser.parse_args(argv)
    return exit_code(
        "gen_selected_op_variants", lambda: write_selected_op_variants(options.yaml_file_path, options.output_dir)
    )


if __name__ == "__main__":
    sys.exit(main())
