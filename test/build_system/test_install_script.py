# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""install_executorch.sh installs the exact torch, then this tree with its extras."""

import re
import shutil
import sys
from pathlib import Path

import pytest
from build_system.configuring import ROOT, run


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with the scripts, and a module `pip` that only notes how it was called."""
    for name in ("install_executorch.sh", "install_executorch.py", "install_requirements.sh", "pyproject.toml"):
        shutil.copy2(ROOT / name, tmp_path / name)
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules/pip.py").write_text(
        f"import sys\nwith open({str(tmp_path / 'calls')!r}, 'a') as calls:\n    print(*sys.argv[1:], file=calls)\n"
    )
    return tmp_path


def _install(tree: Path, *options: str, script: str = "install_executorch.sh") -> tuple[int, str, list[str]]:
    environment = {"PYTHONPATH": str(tree / "modules"), "PYTHON_EXECUTABLE": sys.executable}
    done = run(tree / script, *options, **environment)
    calls = (tree / "calls").read_text().splitlines() if (tree / "calls").exists() else []
    return done.returncode, done.stdout, calls


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), "install {tree}[export,examples]"),
        (("--pybind", "xnnpack"), "install {tree}[export,examples]"),
        (("--minimal",), "install {tree}[export]"),
        (("-e", "-m"), "install --editable {tree}[export]"),
    ],
)
def test_the_exact_torch_is_installed_first(tree: Path, options: tuple[str, ...], expected: str) -> None:
    code, text, calls = _install(tree, *options)
    assert code == 0, text
    assert calls == ["install torch==2.13.0", expected.format(tree=tree)]


def test_the_requirements_are_installed_without_the_tree(tree: Path) -> None:
    code, text, calls = _install(tree, "--minimal", script="install_requirements.sh")
    assert code == 0, text
    torch, others = calls
    assert torch == "install torch==2.13.0"
    assert {"setuptools", "numpy", "torchao"} <= {re.split("[=<>]", name)[0] for name in others.split()[1:]}
    assert "transformers" not in others
    assert "transformers" in _install(tree, script="install_requirements.sh")[2][-1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--use-pt-pinned-commit",),
            "--use-pt-pinned-commit: this project is built on released versions of torch only",
        ),
        (("--pybind", "xnnpack", "coreml"), "--pybind coreml: the Python extension has XNNPACK"),
        (("--pybind", "off"), "--pybind off: the Python extension has XNNPACK"),
        (("--fast",), "unknown option --fast"),
    ],
)
def test_other_options_are_refused_by_name(tree: Path, options: tuple[str, ...], message: str) -> None:
    code, text, calls = _install(tree, *options)
    assert (code, calls) == (2, [])
    assert message in text


def test_clean_deletes_the_folders_of_builds_and_installs_nothing(tree: Path) -> None:
    for name in ("build", "cmake-out", "cmake-out-android", "exir"):
        (tree / name / "inner").mkdir(parents=True)
    code, _, calls = _install(tree, "--clean")
    assert (code, calls) == (0, [])
    left = {path.name for path in tree.iterdir() if path.is_dir()}
    assert left == {"exir", "modules"}
