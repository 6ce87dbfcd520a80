# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Yaml entries become rows: names by rule, partial kernels by key, mistakes by name."""

from pathlib import Path

import pytest
import torch

from executorch.codegen.__main__ import PORTABLE_NAMESPACE, PORTABLE_YAML, main, select
from executorch.codegen.library_yaml import LibraryYamlError, read_library
from executorch.codegen.schema import parse_schema

ADD = parse_schema("add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)")
KNOWN = {ADD.qualified_name: ADD}


def _read(tmp_path: Path, text: str) -> list[tuple[str, str, str]]:
    path = tmp_path / "functions.yaml"
    path.write_text(text)
    return [(r.schema.qualified_name, r.function, r.key) for r in read_library(path, "my", KNOWN)]


def test_a_schema_alone_names_its_kernel_by_rule(tmp_path: Path) -> None:
    rows = _read(tmp_path, "- func: ns::foo.Scalar_out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)\n")
    assert rows == [("ns::foo.Scalar_out", "my::foo_scalar_out", "")]


def test_an_operator_of_the_portable_library_is_known_by_its_name(tmp_path: Path) -> None:
    text = "- op: add.out\n  kernels:\n    - {arg_meta: null, kernel_name: 'user::fast_add'}\n"
    assert _read(tmp_path, text) == [("aten::add.out", "user::fast_add", "")]


def test_partial_kernels_get_a_key_for_each_combination_of_their_aliases(tmp_path: Path) -> None:
    text = """
- op: add.out
  type_alias: {T0: [Double, Float]}
  dim_order_alias: {D0: [[0, 1], [1, 0]]}
  kernels:
    - {arg_meta: null, kernel_name: add_any}
    - {arg_meta: {self: [T0, D0], other: [T0, D0], out: [T0, D0]}, kernel_name: add_some}
"""
    rows = _read(tmp_path, text)
    assert rows[0] == ("aten::add.out", "my::add_any", "")
    assert [key for _, _, key in rows[1:]] == [
        "v1/7;0,1|7;0,1|7;0,1", "v1/7;1,0|7;1,0|7;1,0", "v1/6;0,1|6;0,1|6;0,1", "v1/6;1,0|6;1,0|6;1,0",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- op: nothing.out\n", "aten::nothing.out is not in the portable library"),
        ("- kernels: []\n", "neither 'func'"),
        ("a: 1\n", "expected a list"),
        ("- op: add.out\n- op: add.out\n", "two kernels for key 'fallback'"),
        ("- op: add.out\n  kernels: [{arg_meta: null}]\n", "no 'kernel_name'"),
        ("- op: add.out\n  kernels: [{kernel_name: f, arg_meta: {self: [T0, D0]}}]\n", "lacks the tensor arguments"),
        (
            "- op: add.out\n  kernels: [{kernel_name: f, arg_meta: {self: [T, D], other: [T, D], out: [T, D]}}]\n",
            "undefined alias",
        ),
    ],
)
def test_a_wrong_entry_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(LibraryYamlError, match=message):
        _read(tmp_path, text)


@pytest.mark.parametrize("library", ["portable", "optimized"])
def test_our_tables_hold_torchs_own_schemas(library: str) -> None:
    path = PORTABLE_YAML.parents[1] / library / "functions.yaml"
    rows = read_library(path, PORTABLE_NAMESPACE, {})
    assert len(rows) > 5
    for line in path.read_text().splitlines():
        if not line.startswith("- func: ") or "::" in line.partition("(")[0]:
            continue
        text = line.removeprefix("- func: ")
        schema = parse_schema(text)
        expected = str(torch._C._get_schema(f"aten::{schema.name}", schema.overload)).removeprefix("aten::")
        assert text == expected


def test_only_the_operators_asked_for_are_registered(tmp_path: Path) -> None:
    rows = read_library(PORTABLE_YAML, PORTABLE_NAMESPACE, {})
    assert [r.schema.qualified_name for r in select(rows, ["aten::add.out"])] == ["aten::add.out"]
    with pytest.raises(LibraryYamlError, match="no kernel for aten::zzz"):
        select(rows, ["aten::zzz"])


def test_the_command_writes_headers_and_table_and_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ["--library", "mine", "--out", str(tmp_path), "--include", "executorch/kernels/mine"]
    assert main(["--yaml", str(PORTABLE_YAML), *common, "--ops", "aten::add.out"]) == 0
    folder = tmp_path / "executorch/kernels/mine"
    assert "Tensor& add_out(KernelRuntimeContext& ctx" in (folder / "NativeFunctions.h").read_text()
    assert "add_outf(" in (folder / "Functions.h").read_text()
    assert (folder / "RegisterKernels.cpp").read_text().count("make_kernel<") == 1
    assert main(["--yaml", str(tmp_path / "none.yaml"), *common]) == 1
    assert "none.yaml" in capsys.readouterr().err
