# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Options of the C++ build are honoured, or refused by name."""

from pathlib import Path

import pytest
from build_system.configuring import ROOT, configure

PROJECT = f"""cmake_minimum_required(VERSION 3.24)
project(product LANGUAGES C CXX)
add_subdirectory("{ROOT}" executorch)
file(WRITE main.cpp "int main() {{}}")
add_executable(product main.cpp)
target_link_libraries(product PRIVATE executorch executorch::backends executorch::extensions executorch::kernels)
"""


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("EXECUTORCH_BUILD_QNN=ON", "EXECUTORCH_BUILD_QNN: this project has no such backend"),
        ("EXECUTORCH_BUILD_VULKAN=ON", "EXECUTORCH_BUILD_VULKAN: this project has no such backend"),
        ("EXECUTORCH_SELECT_OPS_FROM_MODEL=a.pte", "EXECUTORCH_SELECT_OPS_MODEL"),
        (
            "EXECUTORCH_BUILD_RUNER_UTIL=ON",
            "Near names: EXECUTORCH_BUILD_EXTENSION_EVALUE_UTIL, EXECUTORCH_BUILD_EXTENSION_RUNNER",
        ),
        ("EXECUTORCH_ENABLE_TRACING=ON", "no such option. Near names: EXECUTORCH_BUILD_ATEN"),
        ("EXECUTORCH_LOG_LEVEL=loud", "expected Debug, Info, Error or Fatal, found 'loud'"),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(tmp_path: Path, option: str, message: str) -> None:
    done = configure(tmp_path, f"-D{option}")
    assert done.returncode != 0
    assert message in done.stdout


def test_documented_options_configure(tmp_path: Path) -> None:
    options = (
        "BUILD_EXTENSION_MODULE=ON",
        "BUILD_EXTENSION_TENSOR=ON",
        "BUILD_DEVTOOLS=ON",
        "BUILD_QNN=OFF",
        "LOG_LEVEL=debug",
    )
    done = configure(tmp_path, *(f"-DEXECUTORCH_{option}" for option in options))
    assert done.returncode == 0, done.stdout
    assert "-DET_MIN_LOG_LEVEL=Debug" in (tmp_path / "build.ninja").read_text()


def test_a_project_links_all_backends_extensions_and_kernels_by_their_documented_names(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    done = configure(tmp_path / "build", source=tmp_path)
    assert done.returncode == 0, done.stdout
