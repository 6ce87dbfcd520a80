# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Tests take their tolerances from the table oracle/tolerances.py."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "test"
TABLE = TESTS / "oracle/tolerances.py"

# File → the reason why its tolerances are its own.
EXCEPTIONS = {
    "devtools/bundled_program/test_verify.py": "arguments of the function under test",
    "extension/pybindings/test_bundled_module.py": "arguments of the function under test",
}
# A smaller number on one side of a comparison is a tolerance.
SMALL = 0.1


def _is_tolerance(name: str | None) -> bool:
    return name is not None and (name in ("rtol", "atol", "bound") or "tolerance" in name.lower())


def _fractions(node: ast.AST) -> Iterator[float]:
    """Yield the fractions in an expression, without those in its calls and indices."""
    if isinstance(node, ast.Constant) and isinstance(node.value, float) and not node.value.is_integer():
        yield abs(node.value)
    if not isinstance(node, (ast.Call, ast.Subscript)):
        for child in ast.iter_child_nodes(node):
            yield from _fractions(child)


def _defaults(arguments: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    positional = [*arguments.posonlyargs, *arguments.args]
    for argument, default in zip(reversed(positional), reversed(arguments.defaults), strict=False):
        yield argument.arg, default
    for argument, given in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if given is not None:
            yield argument.arg, given


def _strings(node: ast.AST) -> Iterator[str]:
    """Yield the names that a constant or a tuple of constants has, separated by commas."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield from (name.strip() for name in part.value.split(","))


def _tolerances(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions of the node that are tolerances by their name or place."""
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
        is_approx = name == "approx"
        yield from (k.value for k in node.keywords if _is_tolerance(k.arg) or (is_approx and k.arg in ("rel", "abs")))
        yield from node.args[1:] if is_approx else ()
        yield from node.args if name == "Tolerance" else ()
        if name == "parametrize" and any(map(_is_tolerance, _strings(node.args[0]))):
            yield from node.args[1:]
    elif isinstance(node, (ast.FunctionDef, ast.Lambda)):
        yield from (default for name, default in _defaults(node.args) if _is_tolerance(name))
    elif isinstance(node, ast.Assign):
        names = {part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)}
        yield from (node.value,) if any(map(_is_tolerance, names)) else ()
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        yield from (node.value,) if _is_tolerance(node.target.id) else ()


def _literals(tree: ast.AST) -> Iterator[int]:
    """Yield the lines that state a tolerance as a number."""
    for node in ast.walk(tree):
        if any(any(_fractions(expression)) for expression in _tolerances(node)):
            yield node.lineno  # type: ignore[attr-defined]
        elif isinstance(node, ast.Assert):
            compared = [part for part in ast.walk(node) if isinstance(part, ast.Compare)]
            sides = [side for part in compared for side in (part.left, *part.comparators)]
            if any(number < SMALL for side in sides for number in _fractions(side)):
                yield node.lineno


def test_no_test_has_a_tolerance_of_its_own() -> None:
    found = []
    for path in sorted(TESTS.rglob("*.py")):
        name = path.relative_to(TESTS).as_posix()
        if path != TABLE and name not in EXCEPTIONS:
            found += [f"{name}:{line}" for line in _literals(ast.parse(path.read_text()))]
    assert not found, f"take the strictest row of {TABLE.relative_to(ROOT)} that passes, or add a row: {found}"


def test_every_exception_states_tolerances() -> None:
    for name in EXCEPTIONS:
        assert any(_literals(ast.parse((TESTS / name).read_text()))), (
            f"{name} states no tolerance: remove it from EXCEPTIONS"
        )


def test_tolerances_are_found_by_name_and_place() -> None:
    for text in (
        "assert_close(a, b, rtol=0, atol=1e-4)",
        "allclose(a, b, rtol=1e-3 if half else 1e-5)",
        "assert_close(a, b, atol=1.001 * quantum)",
        "assert x == pytest.approx(y, 1e-3)",
        "assert x == pytest.approx(y, abs=0.2)",
        "def check(a, tolerance=1e-5): ...",
        "tolerance = 2e-2 if half else 1e-4",
        "assert float(error) < 1e-6",
        "assert (error <= 1e-6 * scale).all()",
        "Way(bound=5e-2)",
        "parametrize(('dtype', 'tolerance'), [(torch.float32, 3e-6)])",
    ):
        assert list(_literals(ast.parse(text))) == [1], text
    for text in (
        "assert_close(a, b, rtol=0, atol=0)",
        "assert_close(a, b, **LAYER)",
        "x = relu(eps=1e-5)",
        "assert n < 2",
    ):
        assert not list(_literals(ast.parse(text))), text
