# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Python modules import each other in one direction, also inside functions."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter

from house.layers import MUTUAL_IMPORTS
from house.test_layering import ROOT, shipped

FILES = {str(path.relative_to(ROOT).with_suffix("")).removesuffix("/__init__"): path for path in shipped(".py")}


def _imports(node: ast.AST) -> Iterator[str]:
    """Yield the modules of ours that are imported when code runs, which leaves out `if TYPE_CHECKING:`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.ImportFrom) and child.module is not None:
            names = [f"{child.module}.{alias.name}" for alias in child.names]
            yield from (name if _path(name) in FILES else child.module for name in names)
        elif isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        yield from _imports(child)


def _path(module: str) -> str:
    return module.removeprefix("executorch.").replace(".", "/")


@cache
def _imported(name: str) -> set[str]:
    """Return the modules of ours that a module imports."""
    read = {
        _path(module) for module in _imports(ast.parse(FILES[name].read_text())) if module.startswith("executorch.")
    }
    return read & FILES.keys() - {name}


def _graph(ignored: set[tuple[str, str]]) -> dict[str, set[str]]:
    return {name: {module for module in _imported(name) if (name, module) not in ignored} for name in FILES}


def _cycle(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_import_closes_a_cycle_in_a_function_either() -> None:
    assert not _cycle(_graph(set(MUTUAL_IMPORTS))), "move what both need into a module of its own, or register it"


def test_every_mutual_import_closes_a_cycle_and_has_a_reason() -> None:
    assert all(MUTUAL_IMPORTS.values())
    obsolete = [pair for pair in MUTUAL_IMPORTS if not _cycle(_graph(set(MUTUAL_IMPORTS) - {pair}))]
    assert not obsolete, f"remove from MUTUAL_IMPORTS: {obsolete}"
