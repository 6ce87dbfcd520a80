# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Check sizes in serialized programs before torch evaluates them as Python."""

from __future__ import annotations

import ast
import re
from math import prod

_MAX_TEXT = 1 << 14
# The product of all exponents. Powers are computed exactly: the exponents of nested powers multiply.
_MAX_EXPONENT = 1 << 10
# The functions of sizes in sympy and torch; sympy has others that take memory and time by their arguments.
_FUNCTIONS = (
    "Symbol|Dummy|Integer|Rational|Float|Add|Mul|Pow|Mod|Abs|Max|Min|Not|And|Or|Xor|ITE|Piecewise|ExprCondPair|Identity|"
    "Equality|Unequality|StrictLessThan|LessThan|StrictGreaterThan|GreaterThan|Eq|Ne|Lt|Le|Gt|Ge|CeilDiv|CeilToInt|"
    "CleanDiv|FloatPow|FloatTrueDiv|FloorDiv|FloorToInt|IntTrueDiv|IsNonOverlappingAndDenseIndicator|LShift|RShift|"
    "ModularIndexing|PowByNatural|PythonMod|RoundDecimal|RoundToInt|ToFloat|TruncToFloat|TruncToInt|Where|"
    r"OpaqueUnaryFn_\w+|BitwiseFn_\w+|floor|ceiling|sqrt|log2?|exp"
)
# Sums, products and calls of these functions.
_EXPRESSION = re.compile(r"[\w\s+\-*/%,.()<>=!&|~]*")
_SYMBOLIC_CALL = rf"(?:{_FUNCTIONS})\s*\("
# A symbol as torch writes it: Symbol('s0', positive=True, integer=True). Its name may be quoted, nothing else.
_QUOTED_SYMBOL = re.compile(r"\bSymbol\('(\w+)'")
_NOT_SYMBOLIC = re.compile(rf"\.\s*[A-Za-z_]|\)\s*\(|\b(?!{_SYMBOLIC_CALL})[A-Za-z_]\w*\s*\(")
# Functions that raise to the power of their last argument.
_POWERS = {"Pow", "PowByNatural", "FloatPow", "LShift", "exp", "OpaqueUnaryFn_exp"}
# A number with an exponent that no float64 has, such as 1e99999999.
_LONG_NUMBER = re.compile(r"[\d.][eE][+-]?0*[1-9]\d{3}")


def check_expression(text: object) -> None:
    """Raise ValueError unless `text` is an expression of symbols that is cheap to evaluate."""
    bare = _QUOTED_SYMBOL.sub(r"Symbol(\1", text) if isinstance(text, str) else ""
    if not isinstance(text, str) or not _EXPRESSION.fullmatch(bare) or _NOT_SYMBOLIC.search(bare):
        raise ValueError(f"expected an expression of symbols as a size; found {text!r}")
    if len(bare) > _MAX_TEXT:
        raise ValueError(f"expected an expression of at most {_MAX_TEXT} characters as a size; found {len(bare)}")
    if bare and _exponents(bare) > _MAX_EXPONENT:
        raise ValueError(f"expected exponents of a size that multiply to at most {_MAX_EXPONENT}; found {text!r}")


def _exponents(text: str) -> float:
    """Return the product of all exponents; infinity for powers in exponents and numbers beyond float64."""
    if _LONG_NUMBER.search(text.replace("_", "")):
        return float("inf")
    try:
        nodes = list(ast.walk(ast.parse(text.strip(), mode="eval")))
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"expected an expression of symbols as a size; found {text!r}") from error
    exponents = [exponent for node in nodes for exponent in _exponent(node)]
    inner = [node for exponent in exponents for node in ast.walk(exponent)]
    if any(_exponent(node) for node in inner):
        return float("inf")
    numbers = [node.value for node in inner if isinstance(node, ast.Constant)]
    return prod(abs(number) + 1 for number in numbers if isinstance(number, (int, float)))


def _exponent(node: ast.AST) -> list[ast.expr]:
    """Return the exponent of a power, or the precision of a Float, which is a number of digits."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Pow, ast.LShift)):
        return [node.right]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _POWERS:
        return [*node.args[-1:], *(keyword.value for keyword in node.keywords)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Float":
        return [*node.args[1:], *(keyword.value for keyword in node.keywords)]
    return []
