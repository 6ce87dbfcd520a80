# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Build and test one folder: `python test/folder.py FOLDER [pytest arguments]`.

FOLDER is a folder of sources or its mirror below `test`: `exir/memory` and `test/exir/memory` are the same. The command
builds and runs the C++ test programs of the folder, then its Python tests, with the bindings rebuilt if the folder has
C++ sources. A folder without tests of its own has those of the nearest folder above it.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = "build/editable"
_CPP = (".h", ".cpp", ".cc", ".c", ".inc")


def mirror_of(folder: Path) -> tuple[Path, Path]:
    """Return the source folder and the test folder, relative to the repository. Raises ValueError for other folders."""
    try:
        relative = folder.resolve().relative_to(ROOT)
    except ValueError:
        raise ValueError(f"expected a folder of {ROOT}, found {folder}") from None
    if not folder.is_dir():
        raise ValueError(f"expected a folder, found {relative}")
    parts = relative.parts[1:] if relative.parts[:1] == ("test",) else relative.parts
    if not parts:
        raise ValueError("expected one folder of the repository; `bash test/run.sh` runs all tests")
    return Path(*parts), Path("test", *parts)


def cpp_test_programs(tests: Path) -> list[str]:
    """Return the names of the C++ test programs in a folder and below, as test/CMakeLists.txt builds them."""
    folders = {
        _program_folder(source.parent.relative_to(ROOT / "test")) for source in (ROOT / tests).rglob("*_test.cpp")
    }
    names = ("_".join(folder.parts) + "_test" for folder in folders)
    return sorted(name for name in names if not name.startswith("aten_mode"))


def _program_folder(tests: Path) -> Path:
    """Return the folder that names the test program of a folder: itself, or the divided folder around it."""
    listed = re.search(r"set\(divided_folders ([^)]*)\)", (ROOT / "test" / "CMakeLists.txt").read_text())
    assert listed is not None, "test/CMakeLists.txt sets divided_folders"
    return next((around for around in tests.parents if str(around) in listed[1].split()), tests)


def _has(folder: Path, pattern: str) -> bool:
    return any((ROOT / folder).rglob(pattern))


def _nearest(tests: Path, pattern: str) -> Path | None:
    """Return the folder itself, or the nearest one above, with files of this pattern; None if there is none."""
    candidates = (folder for folder in (tests, *tests.parents) if len(folder.parts) > 1)
    return next((folder for folder in candidates if _has(folder, pattern)), None)


def commands(folder: Path, pytest_arguments: Sequence[str] = ()) -> Iterator[list[str]]:
    """Yield the commands that build and test a folder. Raises ValueError for a folder without tests."""
    source, tests = mirror_of(folder)
    is_cpp = any(_has(source, f"*{suffix}") for suffix in _CPP) or _has(tests, "*_test.cpp")
    with_programs = _nearest(tests, "*_test.cpp") if is_cpp else None
    with_python = _nearest(tests, "test_*.py")
    if with_programs is None and with_python is None:
        raise ValueError(f"expected tests in {tests} or a folder above it, found none")
    build = ["cmake", "--build", BUILD, "--parallel", "2"]
    if with_programs is not None:
        programs = cpp_test_programs(with_programs)
        yield [*build, "--target", *programs]
        yield from ([f"{BUILD}/test/{program}", "--gtest_brief=1"] for program in programs)
    if with_python is not None:
        if is_cpp:
            yield [*build, "--target", "python_tests"]
            yield ["cmake", "--install", BUILD, "--prefix", ".", "--component", "python"]
        yield [sys.executable, "-m", "pytest", "-q", "-n", "2", str(with_python), *pytest_arguments]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return the exit status of the first command that fails, else 0."""
    parser = argparse.ArgumentParser(description="Build and test one folder.")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="a folder of sources, or of tests")
    parser.add_argument("--print", action="store_true", help="print the commands instead of running them")
    options, rest = parser.parse_known_args(arguments)
    try:
        listed = list(commands(options.folder, rest))
    except ValueError as error:
        parser.error(str(error))
    for command in listed:
        print("$", shlex.join(command), flush=True)
        if not options.print:
            status = subprocess.run(command, cwd=ROOT).returncode
            if status:
                return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
