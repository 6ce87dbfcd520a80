# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Allowed imports (`layers.py`), checked against the sources' imports and includes."""

import ast
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from house.layers import CPP_MAY_INCLUDE, DEBTS, FOR_USERS, MAY_INCLUDE_THEM, PYTHON_MAY_IMPORT

from executorch.exir.passes.documented import DOCUMENTED_MODULES

ROOT = Path(__file__).resolve().parents[2]
CPP = (".h", ".cpp", ".cc", ".c", ".inc")
FOR_USERS_IN_PYTHON = {
    "exir/passes/documented",
    *(f"exir/passes/{module.__name__.rpartition('.')[2]}" for module in DOCUMENTED_MODULES),
}
# Where a string names one of our modules, or an attribute of one: importlib, entry points, lazy tables.
MODULE_NAME = re.compile(r"executorch((?:\.\w+)+)(:\w+)?")


def _tracked_and_new() -> list[Path]:
    command = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [path for path in (ROOT / line for line in sorted(set(listed.stdout.splitlines()))) if path.is_file()]


FILES = _tracked_and_new()


def _sources(*suffixes: str) -> list[Path]:
    return [path for path in FILES if path.suffix in suffixes]


def shipped(*suffixes: str) -> list[Path]:
    return [path for path in _sources(*suffixes) if path.relative_to(ROOT).parts[0] not in ("docs", "examples", "test")]


def _rule(table: dict[str, set[str]], path: str) -> set[str] | None:
    keys = [key for key in table if path == key or path.startswith((key + "/", key + "."))]
    return table[max(keys, key=len)] if keys else None


def _within(path: str, allowed: set[str]) -> bool:
    return any(path == part or path.startswith((part + "/", part + ".")) for part in allowed)


def _exists(module: str) -> bool:
    path = ROOT / module
    return path.is_dir() or path.with_suffix(".py").is_file()


def imported_modules(path: Path) -> list[str]:
    """Return modules of ours that a file imports, by statement or by a string that names one, as paths."""
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level:
            folder = ".".join(("executorch", *path.relative_to(ROOT).parts[: -node.level]))
            names += [f"{folder}.{node.module}" if node.module else folder]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            named = MODULE_NAME.fullmatch(node.value)
            if named is not None and _exists(named[1].strip(".").replace(".", "/")):
                names.append(f"executorch{named[1]}")
    return [n.removeprefix("executorch.").replace(".", "/") for n in names if n.startswith("executorch.")]


def _against_the_rules(path: Path) -> list[str]:
    own = str(path.relative_to(ROOT))
    allowed = _rule(PYTHON_MAY_IMPORT, own)
    assert allowed is not None, f"{own} belongs to no layer"
    own_folder = {str(path.parent.relative_to(ROOT))} - {"."}
    return [name for name in imported_modules(path) if not _within(name, allowed | own_folder)]


def _named(paths: Iterable[Path]) -> list[tuple[str, Path]]:
    """Return each path with its name below the root. One test covers all files: a test for each takes longer to run
    than what it checks.
    """
    return [(str(path.relative_to(ROOT)), path) for path in paths]


def _included(path: Path) -> list[str]:
    """Return the headers of this project that a C++ file includes."""
    return re.findall(r'#\s*include\s*[<"]executorch/([^>"]+)[>"]', path.read_text())


def _is_debt(own: str, name: str) -> bool:
    return any(own == file and _within(name, {module}) for file, module in DEBTS)


def test_python_files_import_only_what_their_layer_may() -> None:
    faults = []
    for own, path in _named(_sources(".py")):
        wrong = [name for name in _against_the_rules(path) if not _is_debt(own, name)]
        if wrong:
            allowed = sorted(_rule(PYTHON_MAY_IMPORT, own) or ())
            faults.append(f"{own} imports {wrong}; its layer may import {allowed}")
    assert not faults, "\n".join(faults)


def test_every_debt_still_exists_and_has_a_reason() -> None:
    assert all(DEBTS.values())
    paid = []
    for own, module in DEBTS:
        wrong = _against_the_rules(ROOT / own) if (ROOT / own).is_file() else []
        if not any(_within(name, {module}) for name in wrong):
            paid.append((own, module))
    assert not paid, f"remove from DEBTS: {paid}"


def test_the_project_imports_no_module_that_exists_for_users_alone() -> None:
    faults = []
    for own, path in _named(shipped(".py")):
        if own.startswith(("exir/passes/documented/", "exir/passes/__init__.py")):
            continue
        names = [name for name in imported_modules(path) if not _names_a_function(name)]
        faults += [f"{own} imports {name}" for name in names if _within(name, FOR_USERS_IN_PYTHON)]
    assert not faults, "modules for users' code:\n" + "\n".join(faults)


def _names_a_function(name: str) -> bool:
    """Return whether an import names a function of `executorch.exir.passes`, not the documented module of that name."""
    return name in (
        "exir/passes/insert_write_back_for_buffers_pass",
        "exir/passes/remove_unused_parameters_pass",
    )


def test_cpp_files_include_only_what_their_layer_may() -> None:
    faults = []
    for own, path in _named(_sources(*CPP)):
        allowed = _rule(CPP_MAY_INCLUDE, own)
        if allowed is None:
            faults.append(f"{own} belongs to no layer")
            continue
        wrong = [name for name in _included(path) if not _within(name, allowed)]
        if wrong:
            faults.append(f"{own} includes {wrong}; its layer may include {sorted(allowed)}")
    assert not faults, "\n".join(faults)


def test_only_the_executor_knows_flatbuffers() -> None:
    knowing = [p for p in shipped(*CPP) if "flatbuffers/" in p.read_text()]
    wrong = [str(p.relative_to(ROOT)) for p in knowing if "runtime/executor" not in str(p)]
    assert not wrong


def test_the_project_uses_no_header_that_exists_for_users_alone() -> None:
    faults = [
        f"{own} includes {name}"
        for own, path in _named(shipped(*CPP))
        if not _within(own, MAY_INCLUDE_THEM)
        for name in _included(path)
        if _within(name, FOR_USERS)
    ]
    assert not faults, "headers for users' code:\n" + "\n".join(faults)


def test_the_project_names_nothing_by_the_names_of_older_code() -> None:
    wrong = [
        f"{own}: {line}"
        for own, path in _named(shipped(*CPP))
        for line in re.sub(r"//.*", "", path.read_text()).splitlines()
        if "torch::executor" in line and not re.match(r"(namespace torch::\w+|using ::torch::executor::)", line)
    ]
    assert not wrong, "\n".join(wrong)
