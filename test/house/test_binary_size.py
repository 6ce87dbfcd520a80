# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The core runtime stays small enough for a microcontroller, and so do the kernels that a program needs."""

import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from models import make

from executorch.exir import to_edge

ROOT = Path(__file__).resolve().parents[2]
PEER_PROGRAMS = ROOT / "test" / "data" / "peer"

LIMIT = 45_000
"""Bytes of the stripped ELF on x86-64, for g++ 12 with -Os, without kernels and log messages."""
MOBILENET_LIMIT = 60_000
"""Bytes of code and constants of the kernels of MobileNetV2 in float32, registration included, built so."""
ADD_LIMIT = 10_240
"""The same of a program that adds two tensors."""
LIBRARY_LIMIT = 600_000
"""The same of all portable kernels in all dtypes."""
STATIC_LIMIT = 1_024
"""Bytes of variables of the same program, the memory that it hands to the runtime left out; the stack takes up to three
times as much (test/memory/runtime_memory_test.cpp)."""
HANDED_OVER = (64 + 32 + 64 + 4 + 16) * 1024
"""Bytes of the arrays in test/size/load_program.cpp."""

INVALID_PROGRAM = 0x23
NOT_SUPPORTED = 0x10
OPERATOR_MISSING = 0x14


class AddRows(torch.nn.Module):
    """Operator of float32, selected with int64."""

    def forward(self, x: torch.Tensor, y: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return x[rows] + y


@pytest.fixture(scope="module")
def folder() -> Path:
    """A build for size, configured for the programs of test/size. Each test builds the targets that it needs."""
    compiler = shutil.which("g++-12") or shutil.which("g++")
    if compiler is None or platform.machine() != "x86_64" or sys.platform != "linux":
        pytest.skip("the limit is one for g++ on Linux on x86-64")
    version = subprocess.run([compiler, "-dumpversion"], check=True, capture_output=True, text=True).stdout
    if version.strip().split(".")[0] != "12":
        pytest.skip(f"the limit is one for g++ 12, this is {version.strip()}")
    folder = ROOT / "build" / "size"  # kept, so that only what has changed is compiled again
    folder.mkdir(parents=True, exist_ok=True)
    mobilenet = folder / "mobilenet_v2.pte"
    mobilenet.write_bytes(to_edge(torch.export.export(*make("mobilenet_v2"))).to_executorch().buffer)
    rows, inputs = folder / "rows.pte", (torch.ones(4, 3), torch.ones(2, 3), torch.tensor([1, 3]))
    rows.write_bytes(to_edge(torch.export.export(AddRows(), inputs)).to_executorch().buffer)
    subprocess.run(
        [
            *(
                "cmake",
                "-S",
                str(ROOT),
                "-B",
                str(folder),
                "-G",
                "Ninja" if shutil.which("ninja") else "Unix Makefiles",
            ),
            f"-DCMAKE_CXX_COMPILER={compiler}",
            f"-DPython3_EXECUTABLE={sys.executable}",
            "-DCMAKE_BUILD_TYPE=MinSizeRel",
            "-DEXECUTORCH_ENABLE_LOGGING=OFF",
            "-DEXECUTORCH_ENABLE_EVENT_TRACER=OFF",
            "-DEXECUTORCH_BUILD_EXECUTOR_RUNNER=OFF",
            "-DEXECUTORCH_BUILD_SIZE_TEST=ON",
            f"-DEXECUTORCH_SIZE_PROGRAM={mobilenet}",
            "-DEXECUTORCH_SELECT_OPS_LIST=quantized_decomposed::dequantize_per_tensor.out",
            f"-DEXECUTORCH_SELECT_OPS_MODEL={rows}",
            "-DEXECUTORCH_ENABLE_DTYPE_SELECTIVE_BUILD=ON",
        ],
        check=True,
        capture_output=True,
    )
    return folder


def _build(folder: Path, *targets: str) -> list[Path]:
    """Build programs of test/size or other targets. Return where programs of these names are."""
    subprocess.run(["cmake", "--build", str(folder), "-j2", "--target", *targets], check=True, capture_output=True)
    return [folder / "test" / "size" / target for target in targets]


@pytest.fixture(scope="module")
def size_test(folder: Path) -> Path:
    """The program without kernels."""
    (program,) = _build(folder, "size_test")
    return program


def _text(*binaries: Path) -> int:
    """Bytes of code and constants, as ``size`` counts them: the sum over the binaries' objects."""
    printed = subprocess.run(["size", *binaries], check=True, capture_output=True, text=True).stdout
    return sum(int(line.split()[0]) for line in printed.splitlines()[1:])


@pytest.mark.sampled(by="file")
def test_the_kernels_of_a_program_fit_their_limits(folder: Path, size_test: Path) -> None:
    of_mobilenet, of_add = _build(folder, "size_program", "size_add")
    assert _text(of_mobilenet) - _text(size_test) <= MOBILENET_LIMIT
    assert _text(of_add) - _text(size_test) <= ADD_LIMIT


@pytest.mark.sampled(by="file")
def test_all_portable_kernels_fit_their_limit(folder: Path) -> None:
    _build(folder, "portable_kernels")
    libraries = [folder / "kernels" / f"lib{name}.a" for name in ("portable_kernels", "kernel_engine")]
    assert _text(*libraries) <= LIBRARY_LIMIT


@pytest.mark.sampled(by="file")
def test_the_build_itself_selects_operators(folder: Path) -> None:
    _build(folder, "size_selected")
    table = (folder / "kernels" / "executorch_selected_kernels" / "RegisterKernels.cpp").read_text()
    assert "aten::add.out" in table and "quantized_decomposed::dequantize_per_tensor.out" in table
    assert "aten::mul.out" not in table and "quantized_decomposed::quantize_per_tensor.out" not in table


class Add(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


@pytest.mark.sampled(by="file")
@pytest.mark.parametrize("library", ["size_program", "size_selected"])
@pytest.mark.parametrize(("dtype", "code"), [(torch.float32, 0), (torch.int64, NOT_SUPPORTED)])
def test_a_dtype_that_was_left_out_is_refused_when_the_program_is_loaded(
    folder: Path, library: str, dtype: torch.dtype, code: int
) -> None:
    """The selection is by operator: another one may have more dtypes, as size_selected has int64 indices."""
    x = torch.ones(3, dtype=dtype)
    program = to_edge(torch.export.export(Add(), (x, x.clone()))).to_executorch().buffer
    assert subprocess.run(_build(folder, library), input=program).returncode == code


def test_the_core_runtime_fits_its_limit(size_test: Path) -> None:
    assert size_test.stat().st_size <= LIMIT


def test_the_core_runtimes_variables_fit_their_limit(size_test: Path) -> None:
    printed = subprocess.run(["size", "-A", size_test], check=True, capture_output=True, text=True).stdout
    sections = {line.split()[0]: int(line.split()[1]) for line in printed.splitlines() if line.startswith(".")}
    assert sections[".data"] + sections[".bss"] - HANDED_OVER <= STATIC_LIMIT


def test_it_is_a_whole_runtime(size_test: Path) -> None:
    """Verify the program and fail at the look-up of its kernels, because none are linked."""
    program = (PEER_PROGRAMS / "add.pte").read_bytes()
    assert subprocess.run([size_test], input=program).returncode == OPERATOR_MISSING
    damaged = program[: len(program) // 2]
    assert subprocess.run([size_test], input=damaged).returncode == INVALID_PROGRAM
