# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The documented command lines of code generation."""

import re
import subprocess
from pathlib import Path

import pytest
import torch
import yaml
from compilers import COMPILER

from executorch.codegen import CodegenError, Library, bind_kernels
from executorch.codegen.binding import PORTABLE_YAML, portable_rows
from executorch.codegen.dtypes import SCALAR_TYPE_CODES, mask
from executorch.codegen.library_yaml import read_library
from executorch.codegen.selection import Selection
from executorch.codegen.tools import gen_all_oplist, gen_oplist, gen_ops_def, gen_selected_op_variants, merge_yaml
from executorch.exir import ExecutorchBackendConfig, to_edge

ROOT = Path(__file__).resolve().parents[2]


def test_a_list_of_operators_becomes_a_selection(tmp_path: Path) -> None:
    file = tmp_path / "selected_operators.yaml"
    assert gen_oplist.main(["--output_path", str(file), "--root_ops", "aten::add.out,aten::mul.out"]) == 0
    assert sorted(Selection.load(file).operators) == ["aten::add.out", "aten::mul.out"]


def test_operators_with_dtypes_become_a_selection(tmp_path: Path) -> None:
    file = tmp_path / "selected_operators.yaml"
    dtypes = '{"aten::add.out": ["v1/3;0,1|3;0,1|6;0,1", "Bool"], "mul.out": []}'
    assert gen_oplist.main(["--output_path", str(file), "--ops_dict", dtypes]) == 0
    selection = Selection.load(file)
    assert selection.operators == {"aten::add.out": True, "aten::mul.out": True}
    assert selection.dtypes == selection.dtypes_of("aten::add.out") == {"Int", "Float", "Bool"}
    assert {"Half", "Long"} < selection.dtypes_of("aten::mul.out")


def test_a_misspelt_operator_with_dtypes_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "selected_operators.yaml"
    assert gen_oplist.main(["--output_path", str(file), "--ops_dict", '{"aten::ad.out": ["Float"]}']) == 0
    with pytest.raises(CodegenError, match=r"aten::ad\.out; did you mean aten::add\.out"):
        bind_kernels(Library("mine", "mine", PORTABLE_YAML), tmp_path, Selection.load(file), dtype_selective=True)


def test_a_library_is_bound_for_the_dtypes_of_a_list(tmp_path: Path) -> None:
    file = tmp_path / "selected_operators.yaml"
    dtypes = '{"aten::add.out": ["Float"], "aten::mul.out": []}'
    assert gen_oplist.main(["--output_path", str(file), "--ops_dict", dtypes, "--root_ops", "aten::sub.out"]) == 0
    bind_kernels(Library("mine", "mine", PORTABLE_YAML), tmp_path, Selection.load(file), dtype_selective=True)
    table = (tmp_path / "mine" / "RegisterKernels.cpp").read_text()
    masks = dict(re.findall(r"portable::(\w+), (0x\w+)>", table))
    every = f"{mask(SCALAR_TYPE_CODES):#x}"
    assert masks == {"add_out": "0x40", "mul_out": every, "sub_out": "0x40"}
    header = (tmp_path / "mine" / "selected_dtypes.h").read_text()
    assert f"#define EXECUTORCH_SELECTED_DTYPES {every}ull" in header
    rows = dict(re.findall(r'ROW\("(\w+)", (0x\w+)ull\)', header))
    assert rows == {"add_out": "0x40", "sub_out": "0x40"}


@pytest.mark.parametrize(
    ("dtypes", "message"),
    [
        ("{", "expected JSON"),
        ("[]", "expected a JSON object, found list"),
        ('{"add.out": "Float"}', "add.out: expected a list of dtypes or kernel keys, found 'Float'"),
        ('{"add.out": ["float"]}', "add.out: unknown dtype 'float'; known: Byte"),
        ('{"add.out": ["v1/99;0"]}', "add.out: unknown dtype number '99' in 'v1/99;0'"),
    ],
)
def test_operators_with_unknown_dtypes_are_refused(
    dtypes: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gen_oplist.main(["--output_path", str(tmp_path / "out.yaml"), "--ops_dict", dtypes]) == 1
    assert message in capsys.readouterr().err


def test_a_missing_program_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    absent = str(tmp_path / "absent.pte")
    assert gen_oplist.main(["--output_path", str(tmp_path / "out.yaml"), "--model_file_path", absent]) == 1
    assert "absent.pte" in capsys.readouterr().err


def test_entries_of_the_first_table_precede_those_of_the_fallback(tmp_path: Path) -> None:
    first, second = tmp_path / "functions.yaml", tmp_path / "fallback.yaml"
    first.write_text("- op: add.out\n  kernels: [{arg_meta: null, kernel_name: mine}]\n")
    second.write_text("- func: aten::add.out(Tensor self) -> Tensor\n- func: my::mul.out(Tensor self) -> Tensor\n")
    arguments = [
        "--functions_yaml_path",
        str(first),
        "--fallback_yaml_path",
        str(second),
        "--output_dir",
        str(tmp_path),
    ]
    assert merge_yaml.main(arguments) == 0
    merged = yaml.safe_load((tmp_path / "merged.yaml").read_text())
    assert merged == [*yaml.safe_load(first.read_text()), {"func": "my::mul.out(Tensor self) -> Tensor"}]


def test_a_table_without_operators_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "functions.yaml"
    table.write_text("- kernels: []\n")
    assert merge_yaml.main(["--functions_yaml_path", str(table), "--output_dir", str(tmp_path)]) == 1
    assert "expected entries with 'op' or 'func'" in capsys.readouterr().err


def _selections(folder: Path, *operators: str) -> str:
    """Write selections of one operator each to folders, and return the argument that lists the folders."""
    for index, operator in enumerate(operators):
        file = folder / str(index) / "selected_operators.yaml"
        assert gen_oplist.main(["--output_path", str(file), "--root_ops", operator]) == 0
    (folder / "list").write_text("\n".join(str(folder / str(index)) for index in range(len(operators))))
    return f"@{folder / 'list'}"


def test_selections_in_several_folders_are_joined(tmp_path: Path) -> None:
    listed = _selections(tmp_path, "aten::add.out", "aten::mul.out")
    arguments = ["--output-dir", str(tmp_path / "all"), "--model-file-list-path", listed, "--check-ops-not-overlapping"]
    assert gen_all_oplist.main(arguments) == 0
    joined = Selection.load(tmp_path / "all" / "selected_operators.yaml")
    assert joined.operators == {"aten::add.out": True, "aten::mul.out": True}
    single = ["--output_dir", str(tmp_path), "--model_file_list_path", str(tmp_path / "0" / "selected_operators.yaml")]
    assert gen_all_oplist.main(single) == 0
    assert sorted(Selection.load(tmp_path / "selected_operators.yaml").operators) == ["aten::add.out"]


@pytest.mark.parametrize(
    ("operators", "message"),
    [(("add.out", "add.out"), "operator aten::add.out is in"), ((), "expected the paths of selections, found none")],
)
def test_overlapping_and_absent_selections_are_refused(
    operators: tuple[str, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--output_dir", str(tmp_path), "--model_file_list_path", _selections(tmp_path, *operators)]
    assert gen_all_oplist.main([*arguments, "--check_ops_not_overlapping"]) == 1
    assert message in capsys.readouterr().err


def test_a_list_that_is_no_text_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "list").write_bytes(b"\xff\xfe")
    arguments = ["--output_dir", str(tmp_path), "--model_file_list_path", f"@{tmp_path / 'list'}"]
    assert gen_all_oplist.main(arguments) == 1
    assert f"{tmp_path / 'list'}: expected the paths of selections, found other bytes" in capsys.readouterr().err


_QUERIES = {
    "a program": """
static_assert(should_include_kernel_dtype("add.out", ScalarType::Float));
static_assert(should_include_kernel_dtype("add.out", ScalarType::Int));
static_assert(!should_include_kernel_dtype("add.out", ScalarType::Double));
static_assert(!should_include_kernel_dtype("mul.out", ScalarType::Float));
""",
    "a list": """
static_assert(should_include_kernel_dtype("mul.out", ScalarType::Double));
static_assert(!should_include_kernel_dtype("add.out", ScalarType::Float));
""",
    "all operators": 'static_assert(should_include_kernel_dtype("any.out", ScalarType::UInt64));',
}


@pytest.mark.sampled
@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("selected", _QUERIES)
def test_the_dtypes_that_programs_need_are_constants_of_the_compiler(selected: str, tmp_path: Path) -> None:
    selections = {
        "a program": Selection(
            {"aten::add.out": False}, operator_dtypes={"aten::add.out": frozenset({"Float", "Int"})}
        ),
        "a list": Selection({"aten::mul.out": True}),
        "all operators": Selection(include_all=True),
    }
    yaml_file = tmp_path / "selected_operators.yaml"
    selections[selected].save(yaml_file)
    arguments = ["--yaml-file-path", str(yaml_file), "--output-dir", str(tmp_path / "out")]
    assert gen_selected_op_variants.main(arguments) == 0
    (tmp_path / "executorch").symlink_to(ROOT)
    source = '#include "out/selected_op_variants.h"\nusing executorch::aten::ScalarType;\n' + _QUERIES[selected]
    (tmp_path / "queries.cpp").write_text(source)
    command = [str(COMPILER), "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I.", "queries.cpp"]
    compiled = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert compiled.returncode == 0, compiled.stderr


def test_a_missing_selection_of_variants_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--yaml_file_path", str(tmp_path / "absent.yaml"), "--output_dir", str(tmp_path)]
    assert gen_selected_op_variants.main(arguments) == 1
    assert "absent.yaml" in capsys.readouterr().err


class _Custom(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(x, 0) + torch.ops.test_ops_def.twice(x)


def test_a_program_becomes_the_yaml_of_a_kernel_library(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with torch.library._scoped_library("test_ops_def", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.define("twice.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
        library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
        library.impl("twice.out", lambda x, *, out: out.copy_(x * 2), "CompositeExplicitAutograd")
        exported = torch.export.export(_Custom(), (torch.ones(3),))
        to_edge(exported).to_executorch(ExecutorchBackendConfig(check_target=False)).save(tmp_path / "model.pte")
    file = tmp_path / "functions.yaml"
    assert gen_ops_def.main(["--output_path", str(file), "--model_file_path", str(tmp_path / "model.pte")]) == 0
    rows = read_library(file, None, portable_rows())
    assert sorted(row.schema.qualified_name for row in rows) == ["aten::add.out", "aten::cumsum.out"]
    assert "has the schema of test_ops_def::twice.out" in capsys.readouterr().err
