# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A build folder serves again after the tools, the Python or the sources that it was made with have gone."""

import os
import shutil
import sys
import zipfile
from pathlib import Path

import pytest
from build_system.configuring import ROOT, cached, configure, run

pytestmark = pytest.mark.sampled(by="file")

SETUP = """import sys, runpy
sys.argv = ["setup.py", "--quiet", "build_ext", "--inplace"]
runpy.run_path("setup.py", run_name="__main__")
"""


def _ninja() -> Path:
    ninja = shutil.which("ninja")
    assert ninja is not None
    return Path(ninja)


def test_tools_that_no_longer_exist_are_searched_again(tmp_path: Path) -> None:
    gone, build = tmp_path / "gone", tmp_path / "build"
    gone.mkdir()
    for name in ("ninja", "ccache"):
        (gone / name).write_text(
            '#!/bin/sh\nexec "${0##*/}" "$@"\n' if name == "ccache" else f'#!/bin/sh\nexec {_ninja()} "$@"\n'
        )
        (gone / name).chmod(0o755)
    options = (
        f"-DCMAKE_MAKE_PROGRAM={gone / 'ninja'}",
        f"-DCCACHE={gone / 'ccache'}",
        "-DFLATC=",
        "-DGTest_DIR=/no/such",
    )
    done = configure(build, *options)
    assert done.returncode == 0, done.stdout
    assert cached(build)["CMAKE_MAKE_PROGRAM"] == str(gone / "ninja")
    shutil.rmtree(gone)
    done = run("cmake", build)
    assert done.returncode == 0, done.stdout
    assert f"CMAKE_MAKE_PROGRAM names {gone}/ninja, which no longer exists: searching again" in done.stdout
    assert Path(cached(build)["CMAKE_MAKE_PROGRAM"]).exists()
    assert str(gone) not in (build / "build.ninja").read_text()


def test_a_ccache_that_cannot_compile_is_not_used(tmp_path: Path) -> None:
    """ccache fails where its folder, by default below $HOME, cannot be written to."""
    broken = tmp_path / "ccache"
    broken.write_text("#!/bin/sh\necho ccache: error: Permission denied >&2\nexit 1\n")
    broken.chmod(0o755)
    done = configure(tmp_path / "build", f"-DCCACHE={broken}", CMAKE_CXX_COMPILER_LAUNCHER="")
    assert done.returncode == 0, done.stdout
    assert f"ccache: not used, because {broken} cannot compile: ccache: error: Permission denied" in done.stdout
    assert str(broken) not in (tmp_path / "build/build.ninja").read_text()


def test_build_commands_name_no_package_of_the_python_environment(tmp_path: Path) -> None:
    done = configure(tmp_path / "build", PYTHONPATH=f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    assert done.returncode == 0, done.stdout
    commands = (tmp_path / "build/build.ninja").read_text()
    assert "site-packages/flatc" not in commands
    assert "PYTHONPATH" not in commands
    assert (tmp_path / "build/host_tools/flatc/include/flatbuffers/flatbuffers.h").exists()


def _tree(place: Path) -> Path:
    """A copy of the build's inputs, in which nothing is built."""
    listed = run("git", "ls-files", "-co", "--exclude-standard").stdout.split()
    for name in listed:
        if (ROOT / name).is_file() and not name.startswith(("test/", "docs/")):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)
    return place


@pytest.fixture(scope="module")
def recorded_cmake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose `cmake` configures in earnest, and only notes that it was to build and install."""
    folder = tmp_path_factory.mktemp("bin")
    real = shutil.which("cmake")
    (folder / "cmake").write_text(
        f'#!/bin/sh\nfor word; do printf "%s\\n" "$word"; done >> "$CALLS"\n'
        f'case "$1" in --build|--install) exit 0;; esac\nexec {real} "$@"\n'
    )
    (folder / "cmake").chmod(0o755)
    return folder


@pytest.mark.parametrize(
    "left", ["another Python's", "another place's", "another generator's", "half a", "an unknown option's"]
)
def test_setup_py_configures_whatever_cache_is_left_in_the_build_folder(
    tmp_path: Path, recorded_cmake: Path, left: str
) -> None:
    tree = _tree(tmp_path / "a tree")
    build = tree / "build/editable"
    build.mkdir(parents=True)
    (build / "CMakeCache.txt").write_text(
        {
            "another Python's": "Python3_EXECUTABLE:FILEPATH=/no/python\nCMAKE_MAKE_PROGRAM:FILEPATH=/no/ninja\n",
            "another place's": "CMAKE_HOME_DIRECTORY:INTERNAL=/no/such/tree\nCMAKE_CACHEFILE_DIR:INTERNAL=/no/build\n",
            "another generator's": "CMAKE_GENERATOR:INTERNAL=Unix Makefiles\n",
            "half a": "CMAKE_CXX_COMPILER:FILEP",
            "an unknown option's": "EXECUTORCH_BUILD_XNPACK:UNINITIALIZED=ON\n",
        }[left]
    )
    environment = {
        "PATH": f"{recorded_cmake}:{os.environ['PATH']}", "CALLS": str(tmp_path / "calls"),
        "CMAKE_ARGS": "-DEXECUTORCH_BUILD_XNNPACK=OFF '-DCMAKE_INSTALL_PREFIX=/a place'",
        "CMAKE_BUILD_ARGS": "--target 'two words'",
    }  # fmt: skip
    done = run(sys.executable, "-c", SETUP, cwd=tree, **environment)
    assert done.returncode == 0, done.stdout
    assert cached(build)["CMAKE_HOME_DIRECTORY"] == str(tree)
    assert cached(build)["CMAKE_INSTALL_PREFIX"] == "/a place"
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls[calls.index("--target") + 1] == "two words"


def test_a_wheel_holds_nothing_of_an_interrupted_build(tmp_path: Path, recorded_cmake: Path) -> None:
    tree = _tree(tmp_path / "tree")
    for left in ("build/lib.linux-x86_64-cpython-311", "build/bdist.linux-x86_64/wheel"):
        (tree / left / "executorch").mkdir(parents=True)
        (tree / left / "executorch/left_behind.py").touch()
    (tree / "build/bdist.linux-x86_64/wheel/executorch-1.4.0.dist-info").mkdir()
    command = ("-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", tmp_path / "out", tree)
    environment = {"PATH": f"{recorded_cmake}:{os.environ['PATH']}", "CALLS": str(tmp_path / "calls")}
    done = run(sys.executable, *command, **environment, CMAKE_ARGS="-DEXECUTORCH_BUILD_XNNPACK=OFF")
    assert done.returncode == 0, done.stdout
    (wheel,) = (tmp_path / "out").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "executorch/exir/__init__.py" in names
    assert not [name for name in names if "left_behind" in name]
