# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Importing and running executorch.runtime needs neither torch nor the compiler."""

import ast
import subprocess
import sys
import types
from pathlib import Path

import peer_programs
import pytest

from executorch.extension.pybindings import _portable_lib, portable_lib


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("module", ["executorch.runtime", "executorch.extension.pybindings.portable_lib"])
def test_importing_the_runtime_imports_neither_torch_nor_compiler_nor_numpy(module: str) -> None:
    loaded = run(f"import {module}, sys; print(*sys.modules)").split()
    assert "torch" not in loaded
    assert "numpy" not in loaded
    assert not [name for name in loaded if name.startswith(("executorch.exir", "executorch.backends"))]


def test_running_imports_no_torch() -> None:
    add = str(peer_programs.path("add"))
    code = f"""
import numpy as np, sys
from executorch.runtime import Runtime
x = np.ones((2, 3), np.float32)
outputs = Runtime.get().load_program({add!r}).load_method("forward").execute([x, x])
print(type(outputs[0]).__module__, outputs[0].sum(), "torch" in sys.modules)
"""
    assert run(code).split() == ["numpy", "12.0", "False"]


def test_a_buffer_runs_without_numpy_being_imported_by_the_caller() -> None:
    add = str(peer_programs.path("add"))
    code = f"""
import array
from executorch.runtime import Runtime
x = memoryview(array.array("f", [1] * 6)).cast("B").cast("f", (2, 3))
print(Runtime.get().load_program({add!r}).load_method("forward").execute([x, x])[0].tolist())
"""
    assert run(code).strip() == "[[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]"


def test_a_process_that_only_gets_the_runtime_exits_cleanly() -> None:
    assert run("import executorch.runtime as r; m = r.Runtime.get(); print('done')") == "done\n"


def stub_names() -> dict[str, set[str]]:
    """The stub's public names and, of classes, their members."""
    tree = ast.parse(Path(_portable_lib.__file__).with_name("_portable_lib.pyi").read_text())
    names: dict[str, set[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            members = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            members |= {item.targets[0].id for item in node.body if isinstance(item, ast.Assign)}  # type: ignore[attr-defined]
            names[node.name] = members
        elif isinstance(node, ast.FunctionDef):
            names[node.name] = set()
    return names


def test_the_stub_lists_the_names_of_the_module() -> None:
    stub = stub_names()
    parts = {name: getattr(_portable_lib, name) for name in dir(_portable_lib) if not name.startswith("__")}
    # Language models have a separate module; see extension/llm/runner.
    assert set(stub) == {name for name, part in parts.items() if not isinstance(part, types.ModuleType)}
    inherited = set(dir(object)) | {"_pybind11_conduit_v1_"}
    for name, members in stub.items():
        value = getattr(_portable_lib, name)
        if isinstance(value, type) and name != "Verification":
            own = {member for member in vars(value) if member not in inherited and not member.startswith("__")}
            assert own == {member for member in members if not member.startswith("__")}, name
            assert all(hasattr(value, member) for member in members), name


def test_portable_lib_exports_every_name_of_the_stub() -> None:
    assert set(portable_lib.__all__) == set(stub_names())
