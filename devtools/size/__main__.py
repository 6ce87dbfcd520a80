# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`python -m executorch.devtools.size FILE.pte`: where each byte of the file goes."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tabulate import tabulate

from executorch.devtools.size.breakdown import Size, size_of
from executorch.exir.serialize import MalformedProgramError


def render(size: Size, most: int) -> str:
    """Tables for a reader: kinds, the `most` largest parts, operators and delegates."""
    kinds = [(kind, count, f"{100 * count / size.file:.1f} %") for kind, count in _largest(size.totals)]
    parts = [(part.kind, part.nbytes, part.uses, part.name, part.same_as or "") for part in size.parts[:most]]
    calls = [*_largest(size.delegates), *_largest(size.operators)]
    tables = [
        tabulate([*kinds, ("file", size.file, "100.0 %")], headers=("what", "bytes", "share")),
        tabulate(parts, headers=("kind", "bytes", "uses", "name", "the same as")),
    ]
    if len(size.parts) > most:
        tables.append(f"and {len(size.parts) - most} smaller parts (--parts N shows more)")
    if size.duplicates:
        tables.append(f"{size.duplicates} bytes are in the file more than once")
    tables.append(tabulate(calls, headers=("runs", "calls")))
    return "\n\n".join(tables)


def _largest(counts: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: -item[1])


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m executorch.devtools.size",
        description="Where each byte of a .pte file goes: constants, delegates, the program, padding, duplicates.",
    )
    parser.add_argument("file", type=Path, metavar="FILE.pte")
    parser.add_argument("--json", action="store_true", help="everything, as JSON")
    parser.add_argument("--parts", type=int, default=20, metavar="N", help="show the N largest parts (default: 20)")
    options = parser.parse_args(arguments)
    try:
        size = size_of(options.file.read_bytes())
    except (OSError, MalformedProgramError) as error:
        print(f"size: {options.file}: {error}", file=sys.stderr)
        return 1
    print(json.dumps(size.as_dict(), indent=1) if options.json else render(size, options.parts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
