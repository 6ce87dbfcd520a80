# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Settings of all tests. Random data are the same in every run, so that anybody can reproduce a failure.

With HYPOTHESIS_PROFILE=search, hypothesis draws other examples in every run. Tests have no time limits.
"""

import gc
import hashlib
import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import hypothesis
import pytest
import torch
from commit_part import part_of_commit
from compilers import ccache_below, cmake_with_ccache

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
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for name, value in {**cmake_with_ccache(), **ccache_below(tmp_path_factory.getbasetemp())}.items():
        monkeypatch.setenv(name, value)


def pytest_collection_finish() -> None:
    """Exempt modules and tests from garbage collection, which would search them in each collection."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--sample",
        action="store_true",
        help="run an eighth of the cases of tests marked `sampled`, which the commit chooses",
    )


# The longest files, longest first. A worker that began one last would leave the others idle.
_LONG_FILES = (
    "test/house/test_package.py",
    "test/firmware/test_firmware.py",
    "test/examples/test_examples.py",
    "test/build_system/test_cmake_presets.py",
    "test/build_system/test_cmake_options.py",
    "test/extension/llm/export/test_export_llm.py",
    "test/docs/test_code_blocks.py",
    "test/docs/test_how_tos_in_cpp.py",
    "test/extension/llm/runner/test_text_llm_runner.py",
    "test/build_system/test_build_folder.py",
    "test/build_system/test_cmake_package.py",
    "test/backends/xnnpack/delegation/test_sizes_at_run_time.py",
    "test/extension/llm/export/test_lora.py",
    "test/runtime/test_execute_async.py",
    "test/end_to_end/test_control_flow_nests.py",
)
_PARTS = 8


def _start(item: pytest.Item) -> int:
    """The place of the test's file in the order of files."""
    file = item.nodeid.split("::")[0]
    return _LONG_FILES.index(file) if file in _LONG_FILES else len(_LONG_FILES)


def _cases_of_other_commits(family: Sequence[pytest.Item], part: int) -> set[pytest.Item]:
    """The cases of one test, or the tests of one file, that the commit does not run. It runs at least one.

    A hash orders them: in the order of parameters, every eighth case often has the same dtype or option.
    """
    parts = min(_PARTS, len(family))
    ordered = sorted(family, key=lambda item: hashlib.sha256(item.nodeid.encode()).digest())
    return {*family} - {*ordered[part % parts :: parts]}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with long files. With --sample, deselect what is marked `sampled` and other commits run.

    `sampled` divides the cases of each test. `sampled(by="file")` divides the tests of a file.
    """
    items.sort(key=_start)
    if not config.getoption("--sample"):
        return
    families: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if (mark := item.get_closest_marker("sampled")) is not None:
            file, _, test = item.nodeid.partition("::")
            families[file if mark.kwargs.get("by") == "file" else f"{file}::{test.split('[')[0]}"].append(item)
    part = part_of_commit(_PARTS)
    others = {item for family in families.values() for item in _cases_of_other_commits(family, part)}
    config.hook.pytest_deselected(items=[item for item in items if item in others])
    items[:] = [item for item in items if item not in others]
