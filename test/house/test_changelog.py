# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The changelog's latest section states performance in tables with before, after and command (docs/style.md)."""

import re
from pathlib import Path

TEXT = (Path(__file__).resolve().parents[2] / "CHANGELOG.md").read_text()


def _latest_performance() -> list[str]:
    latest = re.split(r"^## ", TEXT, flags=re.M)[1]
    (performance,) = re.findall(r"^### Performance\n(.*?)(?=^### |\Z)", latest, flags=re.M | re.S)
    return list(performance.splitlines())


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split(" | ")]


def test_each_figure_of_performance_has_before_after_and_a_command() -> None:
    columns: list[str] = []
    wrong = []
    for line in _latest_performance():
        if not line.startswith("|"):
            columns = []
        elif not columns:
            columns = _cells(line)
            wrong += [line] if columns[-3:] != ["before", "after", "command"] else []
        elif set(line) - set("| -"):
            wrong += [line] if len(_cells(line)) != len(columns) or not all(_cells(line)[-3:]) else []
    assert not wrong, "\n".join(wrong)


def test_performance_states_no_shares_in_prose() -> None:
    prose = " ".join(line for line in _latest_performance() if not line.startswith("|"))
    assert not re.findall(r"\b0\.\d+ (?:to 0\.\d+ )?of (?:its|the) time", prose)
