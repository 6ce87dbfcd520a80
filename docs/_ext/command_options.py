# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The page of `python -m executorch.*` commands, read from their argument parsers."""

from __future__ import annotations

import argparse
import importlib
import inspect
from collections.abc import Iterator
from unittest import mock

from tables import code, plain, table

# Command → the module whose `main` parses the arguments.
COMMANDS = {
    "executorch.export": "executorch.export.command",
    "executorch.devtools": "executorch.devtools.__main__",
    "executorch.devtools.size": "executorch.devtools.size.__main__",
    "executorch.codegen": "executorch.codegen.__main__",
    "executorch.devtools.inspector.inspector_cli": "executorch.devtools.inspector.inspector_cli",
    "executorch.devtools.size_analysis_tool.size_analysis_tool": (
        "executorch.devtools.size_analysis_tool.size_analysis_tool"
    ),
    "executorch.codegen.tools.gen_oplist": "executorch.codegen.tools.gen_oplist",
    "executorch.codegen.tools.merge_yaml": "executorch.codegen.tools.merge_yaml",
    "executorch.examples.portable.scripts.export": "executorch.examples.portable.scripts.export",
    "executorch.examples.xnnpack.aot_compiler": "executorch.examples.xnnpack.aot_compiler",
    "executorch.extension.audio.mel_spectrogram": "executorch.extension.audio.mel_spectrogram",
}
_NOT_SHOWN = (argparse._HelpAction, argparse._SubParsersAction)

_HEAD = """\
# Commands

Generated from the commands' argument parsers by `docs/_ext/command_options.py`. Every command prints its options and
examples for `--help`. `python -m executorch.util.collect_env` takes no options: it prints what an issue needs to say
about versions and the machine.

"""


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
        except _Parsed as found:
            return found.parser
    raise ValueError(f"{module}: expected main to parse arguments, it did not")


def _commands(title: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    nested = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if any(not isinstance(action, _NOT_SHOWN) for action in parser._actions):
        yield title, parser
    for action in nested:
        for name, each in action.choices.items():
            yield from _commands(f"{title} {name}", each)


def _row(action: argparse.Action) -> tuple[str, str]:
    values = action.metavar or ("{" + ",".join(map(str, action.choices)) + "}" if action.choices else "")
    if not values and action.nargs != 0:
        values = action.dest.upper()
    value = " ".join(values) if isinstance(values, tuple) else values
    names = ", ".join(action.option_strings)
    text = (action.help or "") % {**vars(action), "prog": ""} if action.help else ""
    return code(f"{names} {value}".strip()), plain(text)


def page() -> str:
    """Return the page."""
    sections = []
    for command, module in COMMANDS.items():
        for title, parser in _commands(f"python -m {command}", parser_of(module)):
            shown = [action for action in parser._actions if not isinstance(action, _NOT_SHOWN)]
            if shown:
                sections.append(f"## {title}\n\n{table(('argument', 'what it does'), map(_row, shown))}")
    return _HEAD + "\n".join(sections)
