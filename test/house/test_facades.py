# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façades: modules that exist for the import paths and names of ExecuTorch's documentation.

Their docstrings begin with "Façade". Users import them; inside the project only other façades and the `__init__` of a
documented package do, so a façade can be removed without a change elsewhere.
"""

import ast
from pathlib import Path

from house.test_layering import ROOT, imported_modules, shipped

TREES = {path: ast.parse(path.read_text()) for path in shipped(".py")}


def _module(path: Path) -> str:
    return str(path.relative_to(ROOT).with_suffix("")).removesuffix("/__init__")


FACADES = {_module(path) for path, tree in TREES.items() if (ast.get_docstring(tree) or "").startswith("Façade")}


def _reexports_ours(tree: ast.Module) -> bool:
    """Return whether a module only imports names of this project, perhaps with a list of them."""
    body = [node for node in tree.body if not isinstance(node, ast.Expr)]
    imports = [node.module or "" for node in body if isinstance(node, ast.ImportFrom)]
    lists = [node for node in body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"]
    is_ours = all(name.startswith("executorch.") and "._portable_lib" not in name for name in imports)
    return bool(imports) and is_ours and len(imports) + len(lists) == len(body)


def test_the_documented_paths_are_marked() -> None:
    expected = {"exir/memory_planning", "exir/backend/utils", "exir/program/_program", "exir/_serialize/_program"}
    assert expected <= FACADES


def test_only_facades_and_package_faces_import_facades() -> None:
    wrong = [
        f"{_module(path)} imports {name}"
        for path in TREES
        if path.name != "__init__.py" and _module(path) not in FACADES
        for name in imported_modules(path)
        if name in FACADES or name.rpartition("/")[0] in FACADES
    ]
    assert not wrong, f"import the module that the façade names instead: {wrong}"


def test_a_module_that_only_reexports_is_marked() -> None:
    unmarked = [
        _module(path)
        for path, tree in TREES.items()
        if path.name != "__init__.py" and _reexports_ours(tree) and _module(path) not in FACADES
    ]
    assert not unmarked, f"begin the docstring with Façade: {unmarked}"
