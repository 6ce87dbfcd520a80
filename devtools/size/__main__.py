# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`python -m executorch.devtools.size FILE.pte`: account for each byte of the file."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from tabulate import tabulate

from executorch.devtools.command.arguments import number
from executorch.devtools.size.breakdown import Size, size_of
from executorch.devtools.size.edit import EditError, extract, strip
from executorch.devtools.size.regions import regions_of
from executorch.exir.serialize import MalformedProgramError
from executorch.exir.serialize.regular_file import read_regular_file
from executorch.util.exit_code import exit_code


def render(size: Size, modules: Mapping[str, int], max_rows: int) -> str:
    """Format tables: kinds, the `max_rows` largest parts and modules (path → bytes of constants), operators,
    delegates."""
    kinds = [(kind, count, f"{100 * count / size.file:.1f} %") for kind, count in _largest(size.totals)]
    parts = [(part.kind, part.nbytes, part.uses, part.name, part.same_as or "") for part in size.parts[:max_rows]]
    calls = [*_largest(size.delegates), *_largest(size.operators)]
    tables = [
        tabulate([*kinds, ("file", size.file, "100.0 %")], headers=("what", "bytes", "share")),
        tabulate(parts, headers=("kind", "bytes", "uses", "name", "the same as")),
    ]
    if len(size.parts) > max_rows:
        tables.append(f"and {len(size.parts) - max_rows} smaller parts (--parts N shows more)")
    if size.duplicates:
        tables.append(f"{size.duplicates} bytes are in the file more than once")
    rows = [(name or "(no module)", count) for name, count in _largest(modules)]
    if any(modules):
        tables.append(tabulate(rows[:max_rows], headers=("constants of module", "bytes")))
        if len(rows) > max_rows:
            tables.append(f"and {len(rows) - max_rows} smaller modules")
    tables.append(tabulate(calls, headers=("runs", "calls")))
    return "\n\n".join(tables)


def _largest(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: -item[1])


_HELP = """\
Accounts for each byte of a .pte file: constants, delegates, program, padding, duplicates.

  python -m executorch.devtools.size model.pte                     list the largest parts, operators, delegates
  python -m executorch.devtools.size model.pte --record record     also list constants by module, from an ETRecord
  python -m executorch.devtools.size model.pte --list              list the regions in file order
  python -m executorch.devtools.size model.pte --extract NAME --to part.bin
  python -m executorch.devtools.size model.pte --strip debug --strip method:encode --to small.pte

--strip keeps the results of the remaining methods. It always removes unreferenced parts, and on request:
  debug           stack traces and names of tensors
  method:NAME     a method, with the parts that only it uses
  backend:ID      the methods that delegate to that backend
  named-data:KEY  named data that no remaining delegate uses
"""

_STRIPPED = ("method", "backend", "named-data")


def _strip(data: bytes, given: Sequence[str]) -> bytes:
    names: dict[str, list[str]] = {key: [] for key in _STRIPPED}
    for argument in given:
        kind, colon, name = argument.partition(":")
        if kind in _STRIPPED and colon:
            names[kind].append(name)
        elif argument not in ("debug", "unused"):
            raise EditError(f"--strip {argument}: expected debug, unused, method:NAME, backend:ID or named-data:KEY")
    methods, backends, named_data = names.values()
    return strip(data, debug="debug" in given, methods=methods, backends=backends, named_data=named_data)


def _edit(data: bytes, options: argparse.Namespace) -> None:
    edited = extract(data, options.extract) if options.extract else _strip(data, options.strip)
    options.to.write_bytes(edited)
    print(f"{options.to}: {len(edited)} bytes, of {len(data)}")


def _modules(data: bytes, record: Path | None) -> dict[str, int]:
    """Module → bytes of constants, from the record's programs or the names in the file."""
    from executorch.devtools.checked_program import checked_program
    from executorch.devtools.etrecord import parse_etrecord
    from executorch.devtools.memory.constants import constants_of_file, constants_of_programs

    if record is None:
        return constants_of_file(checked_program(data).program)
    return constants_of_programs(parse_etrecord(record).edge_programs())


def _list(data: bytes, as_json: bool) -> str:
    regions = regions_of(data)
    if as_json:
        return json.dumps([asdict(region) for region in regions], indent=1)
    rows = [(region.offset, region.nbytes, region.kind, region.name) for region in regions]
    return tabulate(rows, headers=("at", "bytes", "kind", "what"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m executorch.devtools.size",
        description=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path, metavar="FILE.pte", help="the program")
    parser.add_argument("--json", action="store_true", help="everything, as JSON")
    parser.add_argument("--parts", type=number, default=20, metavar="N", help="show the N largest parts (default: 20)")
    parser.add_argument("--record", type=Path, metavar="FILE", help="ETRecord of the export, which names modules")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="list the file's regions: program, segments, padding")
    what.add_argument("--extract", metavar="NAME", help="write the bytes of a part, by its name in the table")
    what.add_argument("--strip", action="append", metavar="WHAT", help="remove a part; may be repeated")
    parser.add_argument("--to", type=Path, metavar="FILE", help="file that --extract or --strip writes")
    options = parser.parse_args(arguments)
    if bool(options.extract or options.strip) != (options.to is not None):
        parser.error("--to is required with --extract and --strip, and not allowed otherwise")
    errors = (OSError, MalformedProgramError, EditError, RuntimeError)
    return exit_code("size", lambda: _run(options), errors, lambda error: f"{options.file}: {error}")


def _run(options: argparse.Namespace) -> None:
    data = read_regular_file(options.file)
    if options.extract or options.strip:
        _edit(data, options)
    elif options.list:
        print(_list(data, options.json))
    else:
        size, modules = size_of(data), _modules(data, options.record)
        summary = size.as_dict() | {"modules": modules}
        print(json.dumps(summary, indent=1) if options.json else render(size, modules, options.parts))


if __name__ == "__main__":
    sys.exit(main())
