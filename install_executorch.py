# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Install this source tree, with the exact torch that it needs, into the Python that runs this script."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent
REFUSED = {
    "--use-pt-pinned-commit": "this project is built on released versions of torch only",
    "--optional-submodule": "this project has no submodules",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line entry point; returns the exit code."""
    parser = argparse.ArgumentParser(prog="install_executorch.sh", description=__doc__, allow_abbrev=False)
    parser.add_argument("-e", "--editable", action="store_true", help="install links to this tree instead of copies")
    parser.add_argument("-m", "--minimal", action="store_true", help="leave out the dependencies of the examples")
    parser.add_argument(
        "--only-dependencies", action="store_true", help="install only the requirements of this tree and its build"
    )
    parser.add_argument("--clean", action="store_true", help="delete the folders of earlier builds, install nothing")
    parser.add_argument(
        "--pybind",
        action="extend",
        nargs="+",
        default=[],
        help="only xnnpack, which the Python extension has by default",
    )
    options, others = parser.parse_known_args(arguments)
    for argument in others:
        name = argument.partition("=")[0]
        parser.error(f"{name}: {REFUSED[name]}" if name in REFUSED else f"unknown option {argument}")
    for backend in options.pybind:
        if backend != "xnnpack":
            parser.error(
                f"--pybind {backend}: the Python extension has XNNPACK wherever it is available; "
                "CMAKE_ARGS=-DEXECUTORCH_BUILD_XNNPACK=OFF leaves it out"
            )
    if options.clean:
        clean()
        return 0
    # torch comes first and exactly, so that pip resolves no other build of it.
    pip_install(pinned_torch())
    extras = ["export"] if options.minimal else ["export", "examples"]
    if options.only_dependencies:
        pip_install(*dependencies(extras))
    else:
        pip_install(*(["--editable"] if options.editable else []), f"{ROOT}[{','.join(extras)}]")
    return 0


def clean() -> None:
    """Delete the folders of earlier builds."""
    for folder in [ROOT / "build", ROOT / "dist", ROOT / "pip-out", *sorted(ROOT.glob("cmake-out*"))]:
        if folder.exists():
            print(f"deleting {folder}")
            shutil.rmtree(folder)


def pinned_torch() -> str:
    """Return the requirement ``torch==…`` of pyproject.toml."""
    for requirement in dependencies(["export"]):
        if requirement.startswith("torch=="):
            return requirement
    raise ValueError(f"{ROOT / 'pyproject.toml'}: expected a requirement torch==…, found none")


def dependencies(extras: Sequence[str]) -> list[str]:
    """Return the requirements of pyproject.toml: those of the build, of the package, and of its extras."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        from pip._vendor import tomli as tomllib
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())
    lists = [table["build-system"]["requires"], table["project"]["dependencies"]]
    lists += [table["project"]["optional-dependencies"][extra] for extra in extras]
    return [requirement for requirements in lists for requirement in requirements]


def pip_install(*arguments: str) -> None:
    """Run pip of this Python."""
    subprocess.run([sys.executable, "-m", "pip", "install", *arguments], check=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as e:  # pip has printed why
        sys.exit(e.returncode)
