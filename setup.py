# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Build the distribution: folders become packages below ``executorch``, and CMake builds the libraries."""

from __future__ import annotations

import os
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import editable_wheel

ROOT = Path(__file__).resolve().parent
sys.path[:0] = [str(ROOT / "cmake"), str(ROOT / "cmake" / "xnnpack")]
from bill_of_materials import bill_of_materials  # noqa: E402

FIRST_ZIP_DATE = 315532800  # 1980-01-01, the earliest date of a zip archive
NOT_SHIPPED = {"build", "docs", "test", "cmake"}
PACKAGE_DATA = ["*.pyi", "py.typed", "*.yaml", "*.json", "config/*.yaml", "config/*.json"]
SHIPPED_EXAMPLES = {"models", "portable", "xnnpack"}  # documented packages below executorch.examples


def is_shipped(folder: Path) -> bool:
    """Return whether the wheel contains a folder, given relative to the root."""
    top = folder.parts[0]
    if top == "examples":
        return folder.parts[1] in SHIPPED_EXAMPLES
    return top not in NOT_SHIPPED and not top.startswith(".")


def package_names() -> list[str]:
    """Return ``executorch`` and every folder with an ``__init__.py`` below it, by import path."""
    folders = sorted(path.parent.relative_to(ROOT) for path in ROOT.glob("*/**/__init__.py"))
    return ["executorch", *(".".join(("executorch", *folder.parts)) for folder in folders if is_shipped(folder))]


def arguments_from(variable: str) -> list[str]:
    """Return the arguments in an environment variable, split as a shell splits them."""
    return shlex.split(os.environ.get(variable, ""))


class Modules(build_py):
    """The packages' modules. The root folder is a package too; of its modules, only ``version.py`` is shipped."""

    def run(self) -> None:
        """Start from an empty folder, so that no wheel contains files of an earlier build."""
        if not self.editable_mode:
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        if not self.editable_mode:
            self._write_version()

    def _write_version(self) -> None:
        """Replace ``version.py``, which reads the source tree, by a file with the values."""
        names = runpy.run_path(str(ROOT / "version.py"))
        lines = [
            "# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.",
            '"""The version, written by the build of the package."""',
            "",
            '__all__ = ["__version__", "git_version"]',
            *(f"{name} = {names[name]!r}" for name in names["__all__"]),
        ]
        (Path(self.build_lib) / "executorch" / "version.py").write_text("\n".join(lines) + "\n")

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        """Return the modules of a package, none for the root folder, whose scripts are not shipped."""
        return [] if package == "executorch" else super().find_package_modules(package, package_dir)


def source_date() -> int:
    """Return the time of the files in the wheel: ``SOURCE_DATE_EPOCH``, the commit's time, or 1980 without both."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is not None:
        return int(given)
    try:
        command = ("git", "log", "-1", "--format=%ct")
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return FIRST_ZIP_DATE
    return int(done.stdout) if done.returncode == 0 and done.stdout.strip() else FIRST_ZIP_DATE


def write_bill_of_materials(distribution: Distribution, dist_info: Path, *, has_xnnpack: bool) -> None:
    """Write the bill of materials where PEP 770 wants it."""
    folder = dist_info / "sboms"
    folder.mkdir(exist_ok=True)
    text = bill_of_materials(
        distribution.get_version(), distribution.install_requires, has_xnnpack=has_xnnpack, seconds=source_date()
    )
    (folder / "executorch.cdx.json").write_text(text)


class Wheel(bdist_wheel):
    """The wheel. The same tree and tools give the same bytes, wherever and whenever it is built."""

    def run(self) -> None:
        """Remove files of an interrupted build, then assemble the wheel."""
        os.environ["SOURCE_DATE_EPOCH"] = str(max(source_date(), FIRST_ZIP_DATE))
        shutil.rmtree(self.bdist_dir, ignore_errors=True)
        super().run()

    def write_wheelfile(self, wheelfile_base: str, *arguments: str) -> None:
        """Also add the bill of materials (PEP 770), and set permissions that do not depend on the umask."""
        super().write_wheelfile(wheelfile_base, *arguments)
        library = Path(self.bdist_dir) / "executorch/lib/libxnnpack_backend.a"
        write_bill_of_materials(self.distribution, Path(wheelfile_base), has_xnnpack=library.exists())
        for path in Path(self.bdist_dir).rglob("*"):
            if path.is_file() and not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)


class EditableWheel(editable_wheel):
    """The wheel of an editable install."""

    def _run_build_commands(
        self, dist_name: str, unpacked_wheel: str, *folders: str
    ) -> tuple[list[str], dict[str, str]]:
        """Write the bill of materials again after the build: setuptools writes it before."""
        built = super()._run_build_commands(dist_name, unpacked_wheel, *folders)
        (dist_info,) = Path(unpacked_wheel).glob("*.dist-info")
        library = ROOT / "build/editable/backends/libxnnpack_backend.a"
        write_bill_of_materials(self.distribution, dist_info, has_xnnpack=library.exists())
        return built


class CMakeBuild(build_ext):
    """Runs CMake once and installs its components into the package (or, for an editable install, into the tree)."""

    def run(self) -> None:
        """Configure, build, install.

        ``EXECUTORCH_CMAKE_ARGS`` and ``CMAKE_ARGS`` add options, ``CMAKE_BUILD_ARGS`` arguments of the build,
        ``CMAKE_BUILD_PARALLEL_LEVEL`` jobs. Paths with spaces are quoted as in a shell.
        """
        # Not the command's own folder, whose depth differs: a compiler cache then serves both kinds of builds.
        build = ROOT / "build" / ("editable" if self.inplace else "wheel")
        # --fresh discards the cache of the last configure and keeps the objects. The cache may be incomplete, or name a
        # deleted environment, another Python or another path of this tree.
        self._call(
            "cmake", "--fresh", "-S", ROOT, "-B", build, "-G", "Ninja", "-DEXECUTORCH_BUILD_PYBIND=ON",
            "-DEXECUTORCH_BUILD_XNNPACK=AUTO", "-DEXECUTORCH_BUILD_KERNELS_LINALG=AUTO",
            f"-DPython3_EXECUTABLE={sys.executable}",
            *arguments_from("EXECUTORCH_CMAKE_ARGS"), *arguments_from("CMAKE_ARGS"),
        )  # fmt: skip
        jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", "2")
        self._call("cmake", "--build", build, "--parallel", jobs, *arguments_from("CMAKE_BUILD_ARGS"))
        if self.inplace:
            self._call("cmake", "--install", build, "--prefix", ROOT, "--component", "python", "--strip")
        else:
            package = Path(self.build_lib).resolve() / "executorch"
            self._call("cmake", "--install", build, "--prefix", package, "--component", "python", "--strip")
            for component in ("sdk", "aten_sdk"):  # the second is empty without EXECUTORCH_BUILD_ATEN
                self._call("cmake", "--install", build, "--prefix", package, "--component", component)

    def get_outputs(self) -> list[str]:
        """CMake's own install step places the files."""
        return []

    def get_output_mapping(self) -> dict[str, str]:
        """Return an empty mapping: an editable install puts the files into the tree."""
        return {}

    @staticmethod
    def _call(*command: object) -> None:
        subprocess.run([str(part) for part in command], check=True)


setup(
    packages=package_names(),
    package_dir={"executorch": "."},
    package_data={
        "executorch": ["kernels/*/functions.yaml", "kernels/*.json", "runtime/schema/*.fbs", "plugins.ini"],
        **dict.fromkeys(package_names()[1:], PACKAGE_DATA),
    },
    # The extension's sources are CMake's; the entry makes the wheel a platform wheel and runs the build.
    ext_modules=[Extension("executorch.extension.pybindings._portable_lib", sources=[])],
    cmdclass={"bdist_wheel": Wheel, "build_ext": CMakeBuild, "build_py": Modules, "editable_wheel": EditableWheel},
)
