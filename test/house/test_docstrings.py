# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Modules, and public Python names of the product, have docstrings."""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

from executorch.test.house.layers import PACKAGES

ROOT = Path(__file__).resolve().parents[2]

Classes = dict[str, list[ast.ClassDef]]


def _product() -> dict[str, ast.Module]:
    files = sorted(path for package in (*PACKAGES, "kernels") for path in (ROOT / package).rglob("*.py"))
    names = {path.relative_to(ROOT).as_posix(): path for path in files}
    return {name: ast.parse(path.read_text()) for name, path in names.items() if "/test/" not in name}


def _base_names(of: ast.ClassDef) -> Iterator[str]:
    for base in of.bases:
        named = base.value if isinstance(base, ast.Subscript) else base
        if isinstance(named, (ast.Name, ast.Attribute)):
            yield named.attr if isinstance(named, ast.Attribute) else named.id


def _overrides(name: str, of: ast.ClassDef, classes: Classes) -> bool:
    """Return whether a base class documents the method: one that defines it, or one from another distribution."""
    for base in _base_names(of):
        for found in classes.get(base, ()):
            if name in {getattr(member, "name", None) for member in found.body} or _overrides(name, found, classes):
                return True
        if base not in classes:
            return True
    return False


def _is_overload_or_setter(function: ast.FunctionDef) -> bool:
    return any(ast.unparse(decorator).endswith(("overload", ".setter")) for decorator in function.decorator_list)


def _undocumented(tree: ast.Module, classes: Classes) -> Iterator[str]:
    """Yield the public classes, functions and methods of a module that have no docstring and override none."""
    for node in tree.body:
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef)) or node.name.startswith("_"):
            continue
        if not ast.get_docstring(node) and not (isinstance(node, ast.FunctionDef) and _is_overload_or_setter(node)):
            yield node.name
        for method in node.body if isinstance(node, ast.ClassDef) else ():
            if not isinstance(method, ast.FunctionDef) or method.name.startswith("_"):
                continue
            if ast.get_docstring(method) or _is_overload_or_setter(method):
                continue
            if not _overrides(method.name, node, classes):
                yield f"{node.name}.{method.name}"


def _classes(trees: dict[str, ast.Module]) -> Classes:
    classes: Classes = {}
    for tree in trees.values():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                classes.setdefault(node.name, []).append(node)
    return classes


def test_every_public_class_function_and_method_has_a_docstring() -> None:
    trees = _product()
    classes = _classes(trees)
    missing = {file: found for file, tree in trees.items() if (found := list(_undocumented(tree, classes)))}
    assert not missing, f"write docstrings (shapes, dtypes, units, errors), or make the names private: {missing}"


def test_every_module_has_a_docstring() -> None:
    listed = subprocess.run(("git", "ls-files", "*.py"), cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [ROOT / name for name in listed.splitlines()]
    missing = [str(path) for path in files if path.is_file() and not ast.get_docstring(ast.parse(path.read_text()))]
    assert not missing, f"say in one line what the module or package has: {missing}"


def test_names_without_a_docstring_are_found() -> None:
    text = """
class Base:
    '''Documented.'''
    def step(self): '''Documented.'''
class Derived(Base):
    def step(self): ...
    def own(self): ...
    def _private(self): ...
def function(): ...
def _private(): ...
"""
    tree = ast.parse(text)
    assert list(_undocumented(tree, _classes({"file": tree}))) == ["Derived", "Derived.own", "function"]
