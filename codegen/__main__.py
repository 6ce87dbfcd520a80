# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""``python -m executorch.codegen``: generate the C++ of kernel libraries from yaml, for selected operators.

select  programs or lists → selected_operators.yaml, the operators and dtypes that they use
sources programs or lists → the source files of kernels/ that they need, one per line
bind    yaml (and a selection) → NativeFunctions.h, Functions.h, RegisterKernels.cpp, selected_dtypes.h
merge   two libraries' yaml → one, with the second's kernels for operators that the first lacks
embed   a program → C++ with its bytes and the memory of its methods
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from executorch.codegen.binding import Library, bind_kernels
from executorch.codegen.embedding import embed_program
from executorch.codegen.kernel_sources import kernel_sources
from executorch.codegen.located_yaml import CodegenError
from executorch.codegen.merging import merge_libraries
from executorch.codegen.method_memory import read_temp_bytes
from executorch.codegen.selection import Selection, select_operators
from executorch.util.exit_code import exit_code


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line entry point; returns the exit code."""
    options = _parser().parse_args(arguments)
    return exit_code("codegen", lambda: _COMMANDS[options.command](options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m executorch.codegen", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    select = commands.add_parser("select", help="collect the operators that programs or lists use")
    for command in (select, commands.add_parser("sources", help="list the source files of the kernels that they need")):
        command.add_argument("--ops", default="", help="comma-separated operators, e.g. aten::add.out,my_ops::mul3.out")
        command.add_argument("--ops-yaml", type=Path, action="append", default=[], help="a yaml that lists operators")
        command.add_argument("--model", type=Path, action="append", default=[], help="a .pte file; may be repeated")
        command.add_argument("--all", action="store_true", help="every operator of the libraries")
    select.add_argument("--output", type=Path, help="file for the selection (default: standard output)")

    bind = commands.add_parser("bind", help="write a registration library's C++")
    bind.add_argument("--library", required=True, help="the library's name, a C++ identifier")
    bind.add_argument("--out", type=Path, required=True, help="folder that becomes an include root")
    bind.add_argument("--include", help="include path of the headers (default: the library's name)")
    bind.add_argument("--functions-yaml", type=Path, help="kernels/*/functions.yaml, or a yaml in its format")
    bind.add_argument(
        "--custom-ops-yaml", type=Path, action="append", default=[], help="custom kernels; take precedence"
    )
    bind.add_argument("--namespace", help="C++ namespace of functions that the yaml does not name")
    bind.add_argument("--overrides", action="store_true", help="take precedence over libraries without this flag")
    bind.add_argument("--selection", type=Path, help="selected_operators.yaml (default: all operators)")
    bind.add_argument("--dtypes", action="store_true", help="support only the selection's dtypes")
    bind.add_argument(
        "--complete", action="store_true", help="include all kernels of the selection, also primitive ones"
    )
    bind.add_argument(
        "--use-aten-lib", action="store_true", help="use ATen's kernels for operators of the functions yaml (ATen mode)"
    )

    merge = commands.add_parser("merge", help="merge the yaml of two kernel libraries")
    merge.add_argument("--functions-yaml", type=Path, required=True, help="library whose kernels take precedence")
    merge.add_argument("--fallback-yaml", type=Path, required=True, help="library for all other operators")
    merge.add_argument("--output", type=Path, required=True, help="the merged yaml")

    embed = commands.add_parser("embed", help="write the C++ that embeds a program in an image")
    embed.add_argument("program", type=Path, help="a .pte file")
    embed.add_argument("--name", required=True, help="C identifier of the embedded program")
    embed.add_argument("--library", required=True, help="the kernel table's name (bind --complete)")
    temp = embed.add_mutually_exclusive_group()
    temp.add_argument("--temp-bytes", type=int, default=0, help="temporary memory for kernels (default: none)")
    temp.add_argument("--memory-header", type=Path, help="read it from the header that executorch.export writes")
    embed.add_argument("--out", type=Path, required=True, help="folder of the two files")
    return parser


def _selection(options: argparse.Namespace) -> Selection:
    names = options.ops.split(",")
    return select_operators(names, options.ops_yaml, options.model, include_all=options.all)


def _sources(options: argparse.Namespace) -> None:
    for source in kernel_sources(_selection(options)):
        print(source)


def _select(options: argparse.Namespace) -> None:
    selection = _selection(options)
    if options.output is None:
        print(selection.to_yaml(), end="")
    else:
        selection.save(options.output)


def _embed(options: argparse.Namespace) -> None:
    _expect_identifier("the library's name", options.library)
    _expect_identifier("the program's name", options.name)
    header = options.memory_header
    temp_bytes = options.temp_bytes if header is None else read_temp_bytes(header)
    embed_program(options.program, options.name, options.library, temp_bytes, options.out)


def _expect_identifier(what: str, name: str) -> None:
    if not (name.isidentifier() and name.isascii()):
        raise CodegenError(f"expected a C++ identifier as {what}, found {name!r}")


def _bind(options: argparse.Namespace) -> None:
    _expect_identifier("the library's name", options.library)
    library = Library(
        name=options.library,
        include=options.include or options.library,
        functions_yaml=options.functions_yaml,
        custom_yamls=tuple(options.custom_ops_yaml),
        namespace=options.namespace,
        overrides=options.overrides,
        complete=options.complete,
        use_aten_lib=options.use_aten_lib,
    )
    selection = Selection.load(options.selection) if options.selection is not None else None
    missing = bind_kernels(library, options.out, selection, dtype_selective=options.dtypes)
    if missing:
        print(f"codegen: warning: {library.name} lacks kernels for {', '.join(missing)}, which the programs use: "
              "another library must register them", file=sys.stderr)  # fmt: skip


def _merge(options: argparse.Namespace) -> None:
    merge_libraries(options.functions_yaml, options.fallback_yaml, options.output)


_COMMANDS = {"select": _select, "sources": _sources, "bind": _bind, "merge": _merge, "embed": _embed}


if __name__ == "__main__":
    sys.exit(main())
