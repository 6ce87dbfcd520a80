# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The README's commands install packages and create the virtual environment (.ci/environment.sh)."""

import shutil
import sys
from pathlib import Path

import pytest
from build_system.configuring import ROOT, run


def _program(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A PATH with only a minimal shell environment, a dpkg-query that knows only `git`, and a non-root user."""
    folder = tmp_path / "bin"
    _program(folder / "dpkg-query", 'case "$4" in git) echo "install ok installed";; *) exit 1;; esac')
    _program(folder / "id", "echo 1000")
    for name in ("bash", "grep", "dirname"):
        (folder / name).symlink_to(shutil.which(name) or name)
    return folder


def _sourced(programs: Path, commands: str, **environment: str) -> tuple[int, str]:
    script = f'source "{ROOT}/.ci/environment.sh"; {commands}'
    done = run("bash", "-c", script, PATH=str(programs), **environment)
    return done.returncode, done.stdout


def test_installed_packages_need_neither_root_nor_sudo(programs: Path) -> None:
    assert _sourced(programs, "need_packages git && echo done") == (0, "done ")


def test_a_missing_package_without_sudo_is_named(programs: Path) -> None:
    code, text = _sourced(programs, "need_packages git g++; echo done")
    assert code == 1
    assert "missing packages: g++; install them as root" in text
    assert "done" not in text


def test_a_missing_package_that_only_saves_time_is_no_error(programs: Path) -> None:
    code, text = _sourced(programs, "want_packages ccache; echo done")
    assert (code, text.endswith("continuing without ccache done ")) == (0, True)


def test_without_dpkg_packages_count_as_installed(programs: Path) -> None:
    (programs / "dpkg-query").unlink()
    assert _sourced(programs, "need_packages g++ && echo done") == (0, "done ")


@pytest.mark.parametrize("version", ["12", "13.2.0"])
def test_the_32_bit_compiler_is_a_package_that_cross_compilers_leave_installed(programs: Path, version: str) -> None:
    _program(programs / "dpkg-query", 'case "$4" in g++) echo "install ok installed";; *) exit 1;; esac')
    _program(programs / "g++", f'[ "$1" = -dumpversion ] && echo {version}')
    _, text = _sourced(programs, "need_32_bit_compiler")
    assert f"missing packages: g++-{version[:2]}-multilib;" in text


def test_compiled_files_are_found_again_in_another_locale(programs: Path) -> None:
    assert "locale" in _sourced(programs, 'echo "$CCACHE_SLOPPINESS"')[1].strip().split(",")


def _environment(place: Path, *, pip_of: Path, version: str) -> Path:
    """A folder that `venv_is_sound` accepts as a virtual environment."""
    _program(place / "bin/python", f"echo '{version}'")
    _program(place / "bin/pip", f"echo 'pip 26 from {pip_of}/lib/python3.11/site-packages/pip (python 3.11)'")
    return place


@pytest.mark.parametrize(
    ("change", "is_sound"),
    [("none", True), ("moved", False), ("without pip", False), ("of another Python", False), ("deleted", False)],
)
def test_a_virtual_environment_is_used_again_if_it_is_sound(
    programs: Path, tmp_path: Path, change: str, is_sound: bool
) -> None:
    venv, chosen = tmp_path / "an environment", tmp_path / "python"
    _program(chosen, "echo '(3, 12)'")
    _environment(
        venv, pip_of=tmp_path if change == "moved" else venv, version="(3, 11)" if "another" in change else "(3, 12)"
    )
    if change == "without pip":
        (venv / "bin/pip").unlink()
    if change == "deleted":
        shutil.rmtree(venv)
    code, _ = _sourced(programs, f'venv_is_sound "{chosen}"', EXECUTORCH_VENV=str(venv))
    assert (code == 0) is is_sound


def test_a_broken_virtual_environment_is_made_again(tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    _program(venv / "bin/python", "exit 1")
    (venv / "left_behind").touch()
    made = 'make_venv; python -c "import sys; print(sys.prefix)"'
    done = run(
        "bash", "-c", f'source "{ROOT}/.ci/environment.sh"; {made}', EXECUTORCH_VENV=str(venv), PYTHON=sys.executable
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.split()[-1] == str(venv)
    assert not (venv / "left_behind").exists()
