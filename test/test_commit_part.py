# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The parts that commits choose make a whole, and do not depend on the day or the machine."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import commit_part
import conftest
import pytest


class _Hook:
    def __init__(self) -> None:
        self.left: list[_Item] = []

    def pytest_deselected(self, items: Sequence[Any]) -> None:
        self.left.extend(items)


class _Config:
    def __init__(self, is_sample: bool) -> None:
        self.is_sample, self.hook = is_sample, _Hook()

    def getoption(self, name: str) -> bool:
        assert name == "--sample"
        return self.is_sample


class _Item:
    def __init__(self, nodeid: str, is_sampled: bool, **options: str) -> None:
        self.nodeid, self.is_sampled, self.options = nodeid, is_sampled, options

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return pytest.Mark(name, (), self.options, _ispytest=True) if self.is_sampled else None


def _items() -> list[Any]:
    sampled = [_Item(f"test/a.py::test_{name}[{i}]", True) for name in "xy" for i in range(9)]
    return [*sampled, _Item("test/a.py::test_z", False), _Item(f"{conftest._LONG_FILES[1]}::test", False)]


def _kept(monkeypatch: pytest.MonkeyPatch, part: int, items: list[Any]) -> list[str]:
    monkeypatch.setattr(conftest, "part_of_commit", lambda parts: part)
    items, config = [*items], _Config(True)
    whole = {item.nodeid for item in items}
    conftest.pytest_collection_modifyitems(config, items)  # type: ignore[arg-type]
    kept = [item.nodeid for item in items]
    assert whole == {*kept, *(item.nodeid for item in config.hook.left)}
    return kept


def test_each_sampled_case_is_in_one_part_and_other_tests_are_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [name for part in range(conftest._PARTS) for name in _kept(monkeypatch, part, _items())]
    for item in _items():
        assert kept.count(item.nodeid) == (1 if item.is_sampled else conftest._PARTS)


def test_a_family_with_few_cases_runs_one_for_every_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    for size in range(1, conftest._PARTS):
        family = [f"test/a.py::test_few[{i}]" for i in range(size)]
        kept = [_kept(monkeypatch, part, [_Item(name, True) for name in family]) for part in range(conftest._PARTS)]
        assert [len(names) for names in kept] == [1] * conftest._PARTS
        assert {name for names in kept for name in names} == set(family)


def test_the_tests_of_a_file_are_one_family_where_the_mark_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"test/a.py::test_{name}" for name in ("few[0]", "few[1]", *"abcdefghijklmn")]
    kept = [
        _kept(monkeypatch, part, [_Item(name, True, by="file") for name in names]) for part in range(conftest._PARTS)
    ]
    assert {len(part) for part in kept} == {len(names) // conftest._PARTS}
    assert {name for part in kept for name in part} == {*names}


@pytest.mark.parametrize("values", [2, 4])
def test_a_part_has_every_value_of_the_parameter_that_varies_fastest(
    monkeypatch: pytest.MonkeyPatch, values: int
) -> None:
    family = [f"test/a.py::test_many[{slow}-value{fast}]" for slow in range(50) for fast in range(values)]
    for part in range(conftest._PARTS):
        kept = _kept(monkeypatch, part, [_Item(name, True) for name in family])
        assert {name.split("-")[1] for name in kept} == {f"value{fast}]" for fast in range(values)}


def test_without_the_option_all_tests_run_and_long_files_come_first() -> None:
    items = _items()
    conftest.pytest_collection_modifyitems(_Config(False), items)  # type: ignore[arg-type]
    assert len(items) == len(_items())
    assert items[0].nodeid.startswith(conftest._LONG_FILES[1])


def test_long_files_exist() -> None:
    root = Path(conftest.__file__).resolve().parents[1]
    assert [file for file in conftest._LONG_FILES if not (root / file).is_file()] == []


def test_the_part_is_that_of_the_commit_and_the_first_without_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit_part, "commit", lambda: "ff")
    assert commit_part.part_of_commit(4) == 3 and commit_part.part_of_commit(8) == 7
    monkeypatch.undo()
    monkeypatch.setenv("PATH", "")
    assert commit_part.part_of_commit(4) == 0
