# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The core runtime, its verifier included, stays small enough for a microcontroller."""

import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PEER_PROGRAMS = ROOT / "test" / "data" / "peer"

LIMIT = 45_000
"""Bytes of the stripped ELF on x86-64, for g++ 12 with -Os, without kernels and log messages."""

INVALID_PROGRAM = 0x23
OPERATOR_MISSING = 0x14


@pytest.fixture(scope="module")
def size_test(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of test/size, built for size."""
    compiler = shutil.which("g++-12") or shutil.which("g++")
    if compiler is None or platform.machine() != "x86_64" or sys.platform != "linux":
        pytest.skip("the limit is one for g++ on Linux on x86-64")
    version = subprocess.run([compiler, "-dumpversion"], check=True, capture_output=True, text=True).stdout
    if version.split(".")[0] != "12":
        pytest.skip(f"the limit is one for g++ 12, this is {version.strip()}")
    build = tmp_path_factory.mktemp("size")
    subprocess.run(
        [
            *("cmake", "-S", str(ROOT), "-B", str(build), "-G", "Ninja" if shutil.which("ninja") else "Unix Makefiles"),
            f"-DCMAKE_CXX_COMPILER={compiler}",
            f"-DPython3_EXECUTABLE={sys.executable}",
            "-DCMAKE_BUILD_TYPE=MinSizeRel",
            "-DEXECUTORCH_ENABLE_LOGGING=OFF",
            "-DEXECUTORCH_BUILD_RUNNER=OFF",
            "-DEXECUTORCH_BUILD_SIZE_TEST=ON",
        ],
        check=True,
        capture_output=True,
    )
    subprocess.run(["cmake", "--build", str(build), "--target", "size_test", "-j2"], check=True, capture_output=True)
    return build / "test" / "size" / "size_test"


def test_the_core_runtime_fits_its_limit(size_test: Path) -> None:
    assert size_test.stat().st_size <= LIMIT


def test_it_is_a_whole_runtime(size_test: Path) -> None:
    """It verifies the program, and gets as far as looking for its kernels, of which there are none."""
    program = (PEER_PROGRAMS / "add.pte").read_bytes()
    assert subprocess.run([size_test], input=program).returncode == OPERATOR_MISSING
    damaged = program[: len(program) // 2]
    assert subprocess.run([size_test], input=damaged).returncode == INVALID_PROGRAM
