# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The page of executor_runner's options, read from the table in its source."""

from __future__ import annotations

import re
from pathlib import Path

from tables import code, plain, table

SOURCE = Path(__file__).resolve().parents[2] / "extension" / "executor_runner" / "options.cpp"
_TABLE = re.compile(r"constexpr Row kRows\[\] = \{(.*?)\n\};", re.S)
_TEXT = r'"(?:[^"\\]|\\.)*"'
_ROW = re.compile(rf"\{{({_TEXT}),\s*(nullptr|{_TEXT}),\s*((?:{_TEXT}\s*)+),", re.S)

_HEAD = """\
# executor_runner

Generated from `extension/executor_runner/options.cpp` by `docs/_ext/runner_options.py`. The program runs a method of a
`.pte` or `.bpte` file in exactly the memory that the file needs. Options may have one dash instead of two. Options
without a value take `=true`, `=false` or the prefix `no` (`--nolist`). The first argument without a name is the file.

The exit status is 0, or 1 after an error message on standard error.

"""


def rows() -> list[tuple[str, str, str]]:
    """Return name, value ("" for a truth value) and help of each option."""
    table = _TABLE.search(SOURCE.read_text())
    if table is None:
        raise ValueError(f"{SOURCE}: expected the table kRows, found none")
    return [
        (_unquoted(match[1]), "" if match[2] == "nullptr" else _unquoted(match[2]), _unquoted(match[3]))
        for match in _ROW.finditer(table[1])
    ]


def _unquoted(text: str) -> str:
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text))


def page() -> str:
    """Return the page."""
    return _HEAD + table(
        ("option", "meaning"),
        [(code(f"--{name} {value}".strip()), plain(help_text)) for name, value, help_text in rows()],
    )
