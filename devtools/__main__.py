# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`python -m executorch.devtools COMMAND …`: the tools as commands."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from executorch.devtools.size import __main__ as size
from executorch.util.exit_code import exit_code

_DESCRIPTION = """\
Inspects programs and runs. Start with:

  python -m executorch.devtools report model.pte     write a page with timeline, graph and memory
  python -m executorch.devtools profile model.pte    rank operators by time
  python -m executorch.devtools size model.pte       list what takes the bytes

Every command has its own help with examples: python -m executorch.devtools COMMAND --help
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit status: 1 for a failure or a difference, 2 for wrong arguments."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["size"]:
        return size.main(given[1:])
    options = _parser().parse_args(given)
    from executorch.exir.error import ExportError

    errors = (OSError, RuntimeError, ValueError, KeyError, ExportError)
    return exit_code(options.command, lambda: options.run(options), errors, _message)


def _message(error: Exception) -> str:
    """An error's message up to its first empty line: torch appends long internal text after it."""
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return text.strip().split("\n\n")[0] or type(error).__name__


def _parser() -> argparse.ArgumentParser:
    from executorch.devtools.command.listing import commands

    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="python -m executorch.devtools", description=_DESCRIPTION, formatter_class=raw
    )
    parsers = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    for command in commands():
        subparser = parsers.add_parser(
            command.name, help=command.summary, description=command.description, formatter_class=raw
        )
        command.add(subparser)
        subparser.set_defaults(run=command.run)
    parsers.add_parser("size", help="list what takes the bytes of a .pte file")
    return parser


if __name__ == "__main__":
    sys.exit(main())
