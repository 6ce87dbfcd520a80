# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Yaml entries become rows: names by rule, partial kernels by key. An error names the file and the line."""

import itertools
import re
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from executorch.codegen.binding import PORTABLE_NAMESPACE, PORTABLE_YAML, portable_rows
from executorch.codegen.dtypes import SCALAR_TYPE_CODES
from executorch.codegen.library_yaml import KernelRow, operator_names, read_library
from executorch.codegen.located_yaml import CodegenError
from executorch.codegen.schema import parse_schema

ADD = parse_schema("add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)")
KNOWN = {ADD.qualified_name: KernelRow(ADD, f"{PORTABLE_NAMESPACE}::add_out")}
MUL3 = "my::mul3.out(Tensor x, Tensor? bias=None, *, Tensor(a!) out) -> Tensor(a!)"


def _read(tmp_path: Path, text: str, namespace: str | None = None) -> list[KernelRow]:
    path = tmp_path / "functions.yaml"
    path.write_text(text)
    return read_library(path, namespace, KNOWN)


def _kernels(tmp_path: Path, text: str, namespace: str | None = None) -> list[tuple[str, str, str]]:
    return [(r.schema.qualified_name, r.function, r.key) for r in _read(tmp_path, text, namespace)]


def test_a_schema_alone_names_its_kernel_by_rule(tmp_path: Path) -> None:
    text = "- func: ns::foo.Scalar_out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)\n"
    assert _kernels(tmp_path, text, "mine") == [("ns::foo.Scalar_out", "mine::foo_scalar_out", "")]
    assert _kernels(tmp_path, text) == [("ns::foo.Scalar_out", "ns::native::foo_scalar_out", "")]


@pytest.mark.parametrize(
    ("written", "function"),
    [
        ("user::fast_add", "user::native::fast_add"),
        ("user::native::fast_add", "user::native::fast_add"),
        ("executorch::kernels::optimized::add_out", "executorch::kernels::optimized::add_out"),
        ("torch::executor::add_out", f"{PORTABLE_NAMESPACE}::add_out"),
        ("torch::executor::opt_add_out", "torch::executor::native::opt_add_out"),
        ("fast_add", "aten::native::fast_add"),
    ],
)
def test_a_kernel_is_named_as_documented(tmp_path: Path, written: str, function: str) -> None:
    """The sub-namespace native is added; torch::executor is where the documentation shows the portable kernels."""
    text = f"- op: add.out\n  kernels:\n    - {{arg_meta: null, kernel_name: '{written}'}}\n"
    assert _kernels(tmp_path, text) == [("aten::add.out", function, "")]


def test_an_operator_of_the_portable_library_without_kernels_has_its_kernel(tmp_path: Path) -> None:
    assert _kernels(tmp_path, "- op: add.out\n") == [("aten::add.out", f"{PORTABLE_NAMESPACE}::add_out", "")]


def test_partial_kernels_get_a_key_for_each_combination_of_their_aliases(tmp_path: Path) -> None:
    text = """
- op: add.out
  type_alias: {T0: [Double, Float]}
  dim_order_alias: {D0: [[0, 1], [1, 0]]}
  kernels:
    - {arg_meta: null, kernel_name: my::add_any}
    - {arg_meta: {self: [T0, D0], other: [T0, D0], out: [T0, D0]}, kernel_name: my::add_some, context: false}
"""
    rows = _read(tmp_path, text)
    assert (rows[0].function, rows[0].key, rows[0].takes_context) == ("my::native::add_any", "", True)
    assert [row.key for row in rows[1:]] == [
        "v1/7;0,1|7;0,1|7;0,1", "v1/7;1,0|7;1,0|7;1,0", "v1/6;0,1|6;0,1|6;0,1", "v1/6;1,0|6;1,0|6;1,0",
    ]  # fmt: skip
    assert [row.dtypes for row in rows[1:]] == [{"Double"}, {"Double"}, {"Float"}, {"Float"}]
    assert not any(row.takes_context for row in rows[1:])


def test_an_optional_tensor_may_be_left_out_of_a_key(tmp_path: Path) -> None:
    text = f"""
- func: {MUL3}
  type_alias: {{T: [Int]}}
  dim_order_alias: {{D: [[0]]}}
  kernels:
    - {{arg_meta: {{x: [T, D], out: [T, D]}}, kernel_name: my::mul3}}
    - {{arg_meta: {{x: [T, D], bias: [T, D], out: [T, D]}}, kernel_name: my::mul3_bias}}
"""
    assert [row.key for row in _read(tmp_path, text)] == ["v1/3;0|3;0", "v1/3;0|3;0|3;0"]


@given(
    types=st.lists(st.sampled_from(sorted(SCALAR_TYPE_CODES)), min_size=1, max_size=4, unique=True),
    orders=st.lists(st.permutations(range(3)), min_size=1, max_size=3, unique_by=tuple),
)
def test_every_combination_has_one_key(
    tmp_path_factory: pytest.TempPathFactory, types: list[str], orders: list[list[int]]
) -> None:
    text = f"""
- op: add.out
  type_alias: {{A: {types}, B: {types}}}
  dim_order_alias: {{D: {orders}}}
  kernels:
    - {{arg_meta: {{self: [A, D], other: [B, D], out: [A, D]}}, kernel_name: f}}
"""
    rows = _read(tmp_path_factory.mktemp("keys"), text)
    expected = {
        "v1/" + "|".join(f"{SCALAR_TYPE_CODES[t]};{','.join(map(str, order))}" for t in (a, b, a))
        for a, b, order in itertools.product(types, types, orders)
    }
    assert {row.key for row in rows} == expected and len(rows) == len(expected)


HEAD = "# a comment\n- op: add.out\n"
ALIASES = "  type_alias: {T: [Float]}\n  dim_order_alias: {D: [[0, 1]]}\n"
META = "arg_meta: {self: [T, D], other: [T, D], out: [T, D]}"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("- op: nothing.out\n", 1, "aten::nothing.out is not in the portable library"),
        ("\n- op: ad.out\n", 2, "did you mean aten::add.out"),
        ("\n- kernels: []\n", 2, "exactly one of 'func' .* and 'op'"),
        ("- op: add.out\n  func: x\n", 1, "exactly one of 'func' .* and 'op'"),
        ("a: 1\n", 1, "expected a list of operators, found a mapping"),
        ("- op: [\n", 2, "not yaml"),
        ("- op: add.out\n- op: add.out\n", 2, r"two kernels that are fallbacks, the first at .*functions.yaml:1"),
        (HEAD + "  kernel: []\n", 3, "unknown key 'kernel' .*known: .*kernels"),
        (HEAD + "  op: add.out\n", 3, "'op' is given twice, first at .*:2"),
        (HEAD + "  kernels:\n    - {arg_meta: null}\n", 4, "lacks 'kernel_name'"),
        (HEAD + "  kernels:\n    - {kernel_name: a b}\n", 4, "expected a C\\+\\+ function's name, found 'a b'"),
        (HEAD + "  kernels:\n    - {kernel_name: f, context: 3}\n", 4, "expected context .*found 3"),
        (HEAD + "  kernels:\n    - {kernel_name: f, arg_meta: {self: [T0, D0]}}\n", 4, "lacks .* other, out"),
        (HEAD + "  kernels:\n    - {kernel_name: f, arg_meta: {sel: [T, D]}}\n", 4,
         "no tensor .* 'sel': .* self"),
        (HEAD + ALIASES + f"  kernels:\n    - kernel_name: f\n      {META.replace('[T, D], out', '[T1, D], out')}\n", 7,
         "undefined alias 'T1'; type_alias defines T"),
        (HEAD + ALIASES + f"  kernels:\n    - kernel_name: f\n      {META.replace('D], out', 'T], out')}\n", 7,
         "undefined alias 'T'; dim_order_alias defines D"),
        (HEAD + ALIASES.replace("Float", "Flot") + f"  kernels:\n    - {{kernel_name: f, {META}}}\n", 3,
         "unknown dtype 'Flot'; known: Byte"),
        (HEAD + ALIASES.replace("0, 1", "0, 2") + f"  kernels:\n    - {{kernel_name: f, {META}}}\n", 4,
         r"dim order \[0, 2\] is not a permutation"),
        ("- func: foo(Tensor x -> Tensor\n", 1, "not an operator schema: 'foo"),
        ("\n- func: foo(Tensor x) -> Tensor\n", 2, "expected an out variant"),
        ("- func: foo.out(Blob x, *, Tensor(a!) out) -> Tensor(a!)\n", 1, "argument 'x' has type Blob"),
    ],
)  # fmt: skip
def test_an_error_names_file_and_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(CodegenError, match=message) as caught:
        _read(tmp_path, text)
    assert re.match(rf".*functions\.yaml:{line}: ", str(caught.value)), str(caught.value)


@given(st.text(alphabet="-:[]{}, \nopfuncadd.kernls'\"&*?|>#!%@`abc123", max_size=60))
def test_any_text_gives_rows_or_an_error(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    try:
        _read(tmp_path_factory.mktemp("any"), text)
    except CodegenError as e:
        assert "functions.yaml" in str(e)


@pytest.mark.parametrize("library", ["portable", "optimized"])
def test_our_tables_contain_the_schemas_of_torch(library: str) -> None:
    path = PORTABLE_YAML.parents[1] / library / "functions.yaml"
    assert len(read_library(path, PORTABLE_NAMESPACE, {})) > 5
    for line in path.read_text().splitlines():
        if not line.startswith("- func: ") or "::" in line.partition("(")[0]:
            continue
        text = line.removeprefix("- func: ")
        schema = parse_schema(text)
        expected = str(torch._C._get_schema(f"aten::{schema.name}", schema.overload)).removeprefix("aten::")
        assert text == expected


def test_the_names_of_a_list_need_no_kernels() -> None:
    assert set(operator_names(PORTABLE_YAML)) == set(portable_rows())
