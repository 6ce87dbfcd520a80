# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Tests take their tolerances from the tables oracle/tolerances.py and, in C++, oracle/tolerances.h."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "test"
TABLE = TESTS / "oracle/tolerances.py"
CPP_TABLE = TESTS / "oracle/tolerances.h"

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


def test_no_test_has_its_own_tolerance() -> None:
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


# Comparison → position of its first tolerance.
CPP_COMPARISONS = {"EXPECT_NEAR": 2, "ASSERT_NEAR": 2, "allclose": 2}
_CPP_NUMBER = r"(?<![\w.])(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?"
_CPP_DECLARED = re.compile(r"(\w+)\(((?:[^()]|\(\))*?)\b(?:double|float) (?:bound|tolerance)\b[^()]*\)[^;]*?\{")
_CPP_NAMED = re.compile(rf"\b(?:\w*[Tt]olerance|bound|k\w*Bound)\s*=\s*{_CPP_NUMBER}")
_CPP_SMALLER = re.compile(rf"abs\([^;\n]*<=?\s*{_CPP_NUMBER}")


def _has_cpp_fraction(text: str) -> bool:
    return any(not float(number).is_integer() for number in re.findall(_CPP_NUMBER, text))


def _cpp_arguments(text: str, begin: int) -> list[str]:
    """Return the arguments of a call whose opening parenthesis is before `begin`."""
    depth, first, arguments = 0, begin, []
    for at in range(begin, len(text)):
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}" and depth:
            depth -= 1
        elif text[at] in ",)" and not depth:
            arguments.append(text[first:at])
            first = at + 1
            if text[at] == ")":
                break
    return arguments


def _cpp_literals(text: str, comparisons: dict[str, int]) -> Iterator[int]:
    """Yield the lines of C++ that state a tolerance as a number."""
    text = re.sub(r"//[^\n]*", "", text)
    places = [match.start() for pattern in (_CPP_NAMED, _CPP_SMALLER) for match in pattern.finditer(text)]
    for call in re.finditer(rf"\b({'|'.join(comparisons)})\(", text):
        tolerances = _cpp_arguments(text, call.end())[comparisons[call[1]] :]
        places += [call.start()] if any(map(_has_cpp_fraction, tolerances)) else []
    yield from sorted(text.count("\n", 0, place) + 1 for place in places)


def _cpp_comparisons(texts: Iterable[str]) -> dict[str, int]:
    """Return the comparisons, with the tests' own functions that have a parameter `bound` or `tolerance`."""
    declared = {name: before.count(",") for text in texts for name, before in _CPP_DECLARED.findall(text)}
    return CPP_COMPARISONS | declared


def test_no_cpp_test_has_its_own_tolerance() -> None:
    files = sorted(path for path in TESTS.rglob("*") if path.suffix in (".cpp", ".h") and path != CPP_TABLE)
    texts = {path.relative_to(TESTS).as_posix(): path.read_text() for path in files}
    comparisons = _cpp_comparisons(texts.values())
    assert "is_near" in comparisons
    found = [f"{name}:{line}" for name, text in texts.items() for line in _cpp_literals(text, comparisons)]
    assert not found, f"take the strictest row of {CPP_TABLE.relative_to(ROOT)} that passes, or add a row: {found}"


def test_cpp_tolerances_are_found_by_name_and_place() -> None:
    declaration = "bool is_near(double expected, float found, double bound) {}\n"
    comparisons = _cpp_comparisons([declaration])
    for text in (
        "EXPECT_NEAR(counts.at(0) / 4000.0, 0.5, 0.03);",
        "ASSERT_TRUE(is_near(std::min(a, 50.0), out[at], is_max ? 0 : 1e-5));",
        "ASSERT_TRUE(is_near(a, b, 1e-6 * double(depth + 1)));",
        "EXPECT_TRUE(at::allclose(a, b, 1e-4, kAbsolute));",
        "constexpr double kTolerance = 1e-3;",
        "if (!(std::abs(output[i] - expected[i]) < 1e-5f)) {}",
    ):
        assert list(_cpp_literals(text, comparisons)) == [1], text
    for text in (
        "EXPECT_NEAR(a / 255.0, 0.5, tolerance::kLayer);",
        "ASSERT_TRUE(is_near(a, 0.25f, 0));",
        "ASSERT_TRUE(is_near(a, b, tolerance::kLayer * std::max(a, 1.0)));",
        "call.epsilon = 1e-5f;",
        "EXPECT_LE(std::fabs(output), 2);",
    ):
        assert not list(_cpp_literals(text, comparisons)), text
