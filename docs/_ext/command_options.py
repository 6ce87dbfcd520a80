# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The page of `python -m executorch.*` commands, read from their argument parsers."""

from __future__ import annotations

import argparse
import importlib
import inspect
import subprocess
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from tables import code, plain, table

ROOT = Path(__file__).resolve().parents[2]
# Scripts that are not modules of the installed package, and programs of examples.
_NOT_COMMANDS = ("test/", "docs/", "cmake/", "install_executorch.py", "examples/minilm/", "examples/devtools/")
# These two come first on the page.
_FIRST = ("executorch.export", "executorch.devtools")
_NOT_SHOWN = (argparse._HelpAction, argparse._SubParsersAction)

_HEAD = """\
# Commands

Generated from the commands' argument parsers by `docs/_ext/command_options.py`. Every command prints its options and
examples for `--help`. `python -m executorch.util.collect_env` takes no options: it prints the versions and the machine,
for an issue.

"""


def commands() -> dict[str, str]:
    """Return each command and the module whose `main` parses its arguments, for all modules that create a parser."""
    makes_parser = ["(", "-e", "argparse.ArgumentParser(", "--or", "-e", "= model_parser(", ")"]
    grep = ["git", "grep", "-lF", "--all-match", *makes_parser, "-e", "def main(", "--", "*.py"]
    listed = subprocess.run(grep, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    modules = [name.removesuffix(".py").replace("/", ".") for name in listed if not name.startswith(_NOT_COMMANDS)]
    modules_of = {f"executorch.{name.removesuffix('.__main__').removesuffix('.command')}": name for name in modules}
    names = sorted(modules_of, key=lambda name: (name not in _FIRST, name))
    return {name: f"executorch.{modules_of[name]}" for name in names}


class _Parsed(Exception):
    """Carries the parser out of a command that has just built it."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        super().__init__(parser.prog)
        self.parser = parser


def parser_of(module: str) -> argparse.ArgumentParser:
    """Return the parser that the command's `main` builds; nothing is run."""

    def stop(self: argparse.ArgumentParser, *_: object, **__: object) -> None:
        raise _Parsed(self)

    main = importlib.import_module(module).main
    arguments = [["--help"]] if inspect.signature(main).parameters else []
    with (
        mock.patch.object(argparse.ArgumentParser, "parse_args", stop),
        mock.patch.object(argparse.ArgumentParser, "parse_known_args", stop),
    ):
        try:
            main(*arguments)
        except _Parsed as parsed:
            return parsed.parser
    raise ValueError(f"{module}: expected main to parse arguments, it did not")


def _commands(title: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    nested = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if any(not isinstance(action, _NOT_SHOWN) for action in parser._actions):
        yield title, parser
    for action in nested:
        for name, subparser in action.choices.items():
            yield from _commands(f"{title} {name}", subparser)


def _row(action: argparse.Action) -> tuple[str, str]:
    values = action.metavar or ("{" + ",".join(map(str, action.choices)) + "}" if action.choices else "")
    if not values and action.nargs != 0:
        values = action.dest.upper()
    value = " ".join(values) if isinstance(values, tuple) else values
    names = ", ".join(action.option_strings)
    if not action.help:
        raise ValueError(f"{names or value}: expected help of the command's parser, found none")
    text = action.help % {**vars(action), "prog": ""}
    return code(f"{names} {value}".strip()), plain(text)


def page() -> str:
    """Return the page."""
    sections = []
    for command, module in commands().items():
        for title, parser in _commands(f"python -m {command}", parser_of(module)):
            shown = [action for action in parser._actions if not isinstance(action, _NOT_SHOWN)]
            if shown:
                sections.append(f"## {title}\n\n{table(('argument', 'meaning'), map(_row, shown))}")
    return _HEAD + "\n".join(sections)
