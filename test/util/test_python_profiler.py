# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The page of a profile."""

from pathlib import Path

import pytest

from executorch.util.python_profiler import CProfilerFlameGraph


def _busy() -> int:
    return sum(_square(number) for number in range(2000))


def _square(number: int) -> int:
    return number * number


def test_a_profile_is_a_page_with_the_functions_that_ran(tmp_path: Path) -> None:
    with CProfilerFlameGraph(str(tmp_path / "profile.html")):
        _busy()
    page = (tmp_path / "profile.html").read_text()
    assert "_busy" in page and "_square" in page and page.startswith("<!DOCTYPE html>")


def test_a_body_that_raises_is_profiled_and_raises(tmp_path: Path) -> None:
    with pytest.raises(KeyError), CProfilerFlameGraph(str(tmp_path / "profile.html")):
        raise KeyError(_busy())
    assert "_busy" in (tmp_path / "profile.html").read_text()


def test_the_name_of_a_file_is_needed() -> None:
    with pytest.raises(ValueError, match="name of a file"):
        CProfilerFlameGraph("")
