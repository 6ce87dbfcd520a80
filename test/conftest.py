# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Settings of all tests. Random data are the same in every run, so that anybody can reproduce a failure.

With HYPOTHESIS_PROFILE=search, hypothesis draws other examples in every run. Tests have no time limits.
"""

import datetime
import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import torch

hypothesis.settings.register_profile("repeat", deadline=None, derandomize=True)
hypothesis.settings.register_profile("search", deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Seed torch before each test, so that its data do not depend on earlier tests."""
    torch.manual_seed(0)


@pytest.fixture
def compiler_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let CMake use ccache, if it is installed, such that builds in other temporary folders share its entries."""
    if ccache := shutil.which("ccache"):
        monkeypatch.setenv("CMAKE_CXX_COMPILER_LAUNCHER", ccache)
        monkeypatch.setenv("CCACHE_BASEDIR", str(tmp_path_factory.getbasetemp()))
        monkeypatch.setenv("CCACHE_NOHASHDIR", "1")
        monkeypatch.setenv("TMPDIR", str(tmp_path))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--sample",
        action="store_true",
        help="run a third of the cases of tests marked `sampled`, another third each day",
    )


def _today(config: pytest.Config) -> int:
    """The day of the run, which all processes of pytest-xdist must agree on."""
    given: dict[str, Any] = getattr(config, "workerinput", {})
    day: int = given.get("sample_day", datetime.datetime.now(datetime.timezone.utc).toordinal())
    return day


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    if not hasattr(node.config, "sample_day"):
        node.config.sample_day = _today(node.config)
    node.workerinput["sample_day"] = node.config.sample_day


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the cases of tests marked `sampled` that another day runs. They differ in sizes, models or dtypes."""
    if not config.getoption("--sample"):
        return
    day = _today(config)
    seen: Counter[str] = Counter()
    kept, left = [], []
    for item in items:
        test = item.nodeid.split("[")[0]
        is_other_days = item.get_closest_marker("sampled") is not None and (seen[test] + day) % 3 != 0
        seen[test] += 1
        (left if is_other_days else kept).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept
