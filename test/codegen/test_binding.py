# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The command writes headers and table of the selection, and reports errors."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from executorch.codegen import CodegenError, Library, Selection, bind_kernels
from executorch.codegen.__main__ import main
from executorch.codegen.binding import PORTABLE_YAML, own_namespace
from executorch.codegen.kernel_dtypes import CALLED
from executorch.codegen.source_table import KERNELS

PEER = Path(__file__).resolve().parents[1] / "data" / "peer"
CUSTOM = """
- func: my::mul3.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)
  kernels: [{arg_meta: null, kernel_name: 'custom::mul3_out', context: false}]
- op: add.out
  type_alias: {T: [Float, Int]}
  dim_order_alias: {D: [[0, 1]]}
  kernels:
    - {arg_meta: {self: [T, D], other: [T, D], out: [T, D]}, kernel_name: 'custom::fast_add'}
- op: sub.out
  kernels: [{arg_meta: null, kernel_name: 'custom::sub_out'}]
"""
PORTABLE = Library("mine", "mine", functions_yaml=PORTABLE_YAML)


def _table(folder: Path) -> list[str]:
    text = (folder / "mine" / "RegisterKernels.cpp").read_text()
    return [line.strip().rstrip(",") for line in text.splitlines() if "make_kernel" in line]


@pytest.fixture
def custom(tmp_path: Path) -> Library:
    (tmp_path / "custom.yaml").write_text(CUSTOM)
    return Library("mine", "mine", PORTABLE_YAML, (tmp_path / "custom.yaml",))


def test_all_operators_are_registered_without_a_selection(tmp_path: Path) -> None:
    assert bind_kernels(PORTABLE, tmp_path) == []
    assert len(_table(tmp_path)) == PORTABLE_YAML.read_text().count("- func:")
    assert "Tensor& add_out(KernelRuntimeContext& ctx" in (tmp_path / "mine/NativeFunctions.h").read_text()
    entries = (tmp_path / "mine/Functions.h").read_text()
    assert "inline Tensor& add_outf(KernelRuntimeContext& ctx" in entries
    assert "EntryPointScope entry_point_scope(ctx);" in entries


def test_a_copy_of_a_librarys_yaml_binds_the_kernels_of_that_library(tmp_path: Path) -> None:
    copy = tmp_path / "tree" / "kernels" / "portable" / "functions.yaml"
    copy.parent.mkdir(parents=True)
    copy.write_bytes(PORTABLE_YAML.read_bytes())
    for name, yaml in {"own": PORTABLE_YAML, "copied": copy}.items():
        bind_kernels(Library("mine", "mine", functions_yaml=yaml), tmp_path / name, Selection({"aten::add.out": True}))
    assert _table(tmp_path / "copied") == _table(tmp_path / "own")
    copy.write_text("- op: add.out\n")
    assert own_namespace(copy) is None and own_namespace(tmp_path / "absent.yaml") is None


def test_a_library_may_have_only_kernels_of_aten(tmp_path: Path) -> None:
    (tmp_path / "chosen.yaml").write_text("- op: add.out\n- op: mul.out\n")
    bind_kernels(Library("mine", "mine", tmp_path / "chosen.yaml", use_aten_lib=True), tmp_path)
    text = (tmp_path / "mine/RegisterKernels.cpp").read_text()
    assert _table(tmp_path) == [] and "register_aten_kernels({kAtenOperators, 2})" in text
    assert text.count("kKernels, size_t{0}") == 2, "0 alone would be a pointer as well"


def test_only_selected_operators_are_registered_and_they_are_sorted(tmp_path: Path, custom: Library) -> None:
    selection = Selection({"my::mul3.out": True, "aten::sub.out": True, "aten::add.out": True})
    bind_kernels(custom, tmp_path, selection)
    assert _table(tmp_path) == [
        'make_kernel<&::executorch::kernels::portable::add_out>("aten::add.out")',
        'make_kernel<&::custom::native::fast_add>("aten::add.out", KernelKey("v1/6;0,1|6;0,1|6;0,1"))',
        'make_kernel<&::custom::native::fast_add>("aten::add.out", KernelKey("v1/3;0,1|3;0,1|3;0,1"))',
        'make_kernel<&::custom::native::sub_out>("aten::sub.out")',
        'make_kernel<&::custom::native::mul3_out>("my::mul3.out")',
    ]
    declarations = (tmp_path / "mine/NativeFunctions.h").read_text()
    assert "Tensor& mul3_out(const Tensor& x, Tensor& out);" in declarations
    assert declarations.count("fast_add(") == 1


def test_selected_dtypes_remove_partial_kernels_and_guard_our_own(tmp_path: Path, custom: Library) -> None:
    selection = Selection({"my::mul3.out": True, "aten::add.out": True}, dtypes=frozenset({"Float"}))
    bind_kernels(custom, tmp_path, selection, dtype_selective=True)
    assert _table(tmp_path) == [
        'make_kernel_for_dtypes<&::executorch::kernels::portable::add_out, 0x40>("aten::add.out")',
        'make_kernel<&::custom::native::fast_add>("aten::add.out", KernelKey("v1/6;0,1|6;0,1|6;0,1"))',
        'make_kernel<&::custom::native::mul3_out>("my::mul3.out")',
    ]
    assert "#define EXECUTORCH_SELECTED_DTYPES 0x40ull" in (tmp_path / "mine/selected_dtypes.h").read_text()
    functions = (tmp_path / "mine/Functions.h").read_text()
    guard = "  if (!::executorch::ET_RUNTIME_NAMESPACE::serves_dtypes<0x40>"
    memory = "  const ::executorch::ET_RUNTIME_NAMESPACE::internal::EntryPointScope entry_point_scope(ctx);\n"
    body = f"{guard}(ctx, self, other, out)) return out;\n{memory}  return ::executorch::kernels::portable::add_out("
    assert body in functions
    assert f"{guard}(ctx, self, values, indices)) return {{values, indices}};\n" in functions
    assert f"{guard}(ctx, tensors, out)) return out;\n" in functions
    # Custom kernels have no guard for dtypes: they serve the dtypes they are written for.
    assert (
        "mul3_outf([[maybe_unused]] KernelRuntimeContext& ctx, const Tensor& x, Tensor& out) {\n  return" in functions
    )


def test_an_operator_has_the_dtypes_of_the_programs_and_all_if_selected_by_name(tmp_path: Path) -> None:
    met = {"aten::add.out": frozenset({"Float"}), "aten::gather.out": frozenset({"Float", "Long"})}
    named = {**dict.fromkeys(met, False), "aten::sub.out": True, "aten::clamp.out": False}
    met["aten::clamp.out"] = frozenset({"Long"})
    bind_kernels(PORTABLE, tmp_path, Selection(named, False, frozenset({"Float", "Long"}), met), dtype_selective=True)
    masks = dict(re.findall(r"portable::(\w+), (0x\w+)>", "".join(_table(tmp_path))))
    assert masks == {"add_out": "0x40", "clamp_out": "0x10", "gather_out": "0x50", "sub_out": "0x50"}
    header = (tmp_path / "mine/selected_dtypes.h").read_text()
    # A kernel also has the dtypes of its callers, and a source file those of all kernels that use it.
    rows = dict(re.findall(r'ROW\("(\S+)", (0x\w+)ull\)', header))
    assert rows == {
        "add_out": "0x40",
        "clamp_out": "0x10",
        "hardtanh_out": "0x10",
        "portable/pointwise/ternary.cpp": "0x10",
    }
    guards = (tmp_path / "mine/Functions.h").read_text()
    assert "serves_dtypes<0x40>(ctx, self, other, out)" in guards and "serves_dtypes<0x50>(ctx, self, other" in guards


def test_the_table_of_called_kernels_is_that_of_the_sources() -> None:
    groups: dict[str, set[str]] = {}
    for path in (KERNELS / "portable" / "pointwise").glob("*.cpp"):
        caller = ""
        for line in path.read_text().splitlines():
            if definition := re.match(r"Tensor& (\w+_out\w*)\(", line):
                caller = definition.group(1)
            elif called := re.search(r"\b(\w+_out\w*)\(ctx, ", line):
                groups.setdefault(caller, set()).add(called.group(1))
    assert len(groups) >= 6
    reached = {
        caller: {*names, *(n for name in names for n in groups.get(name, ()))} for caller, names in groups.items()
    }
    assert {caller: set(names) for caller, names in CALLED.items()} == reached


def test_an_unknown_selected_operator_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(CodegenError, match=r"selected operators aten::ad\.out; did you mean aten::add\.out"):
        bind_kernels(PORTABLE, tmp_path, Selection({"aten::ad.out": True}))


def test_a_programs_operator_of_another_library_is_reported(tmp_path: Path) -> None:
    selection = Selection(dict.fromkeys(["other::op.out", "aten::add.out", "executorch_prim::add.Scalar"], False))
    assert bind_kernels(PORTABLE, tmp_path, selection) == ["other::op.out"]
    assert len(_table(tmp_path)) == 1


def test_selecting_dtypes_requires_dtypes(tmp_path: Path) -> None:
    with pytest.raises(CodegenError, match="requires a selection with dtypes"):
        bind_kernels(PORTABLE, tmp_path, Selection({"aten::add.out": True}), dtype_selective=True)


def test_functions_of_one_name_are_distinguished_by_their_types(tmp_path: Path) -> None:
    (tmp_path / "custom.yaml").write_text(
        "".join(
            f"- func: my::{name}(Tensor x, {kind} y, *, Tensor(a!) out) -> Tensor(a!)\n"
            "  kernels: [{kernel_name: 'custom::scale_out'}]\n"
            for name, kind in (("scale.out", "Tensor"), ("scale.Scalar_out", "Scalar"))
        )
    )
    bind_kernels(Library("mine", "mine", custom_yamls=(tmp_path / "custom.yaml",)), tmp_path)
    casts = [line.partition("(&::")[0] for line in _table(tmp_path)]
    assert casts == [
        "make_kernel<static_cast<Tensor& (*)(KernelRuntimeContext&, const Tensor&, const Scalar&, Tensor&)>",
        "make_kernel<static_cast<Tensor& (*)(KernelRuntimeContext&, const Tensor&, const Tensor&, Tensor&)>",
    ]


def test_the_command_selects_binds_and_reports_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    selection = tmp_path / "selected_operators.yaml"
    bind = ["bind", "--library", "mine", "--out", str(tmp_path), "--functions-yaml", str(PORTABLE_YAML)]
    assert main(["select", "--model", str(PEER / "add.pte"), "--output", str(selection)]) == 0
    assert main([*bind, "--selection", str(selection), "--dtypes"]) == 0
    assert len(_table(tmp_path)) == 1
    before = (tmp_path / "mine/RegisterKernels.cpp").stat().st_mtime_ns
    assert main([*bind, "--selection", str(selection), "--dtypes"]) == 0
    assert (tmp_path / "mine/RegisterKernels.cpp").stat().st_mtime_ns == before  # unchanged, so that nothing is rebuilt
    assert main(["bind", "--library", "a-b", "--out", str(tmp_path)]) == 1
    assert "C++ identifier" in capsys.readouterr().err
    assert main(["select", "--model", str(tmp_path / "none.pte")]) == 1
    assert "none.pte" in capsys.readouterr().err


def test_nothing_but_pyyaml_is_imported() -> None:
    script = (
        "import sys; before = set(sys.modules); import executorch.codegen.__main__\n"
        "third = {m.partition('.')[0] for m in set(sys.modules) - before} - set(sys.stdlib_module_names)\n"
        "assert {name for name in third if 'cython' not in name} <= {'executorch', 'yaml', '_yaml'}, third"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


ATEN = """
- op: add.out
- func: aten::special_zeta.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
- op: my::of_mine.out
- op: mul.out
  kernels: [{arg_meta: null, kernel_name: 'torch::executor::mul_out'}]
"""


def _aten_library(folder: Path, text: str = ATEN, **options: bool) -> Library:
    (folder / "functions.yaml").write_text(text)
    return Library("mine", "mine", folder / "functions.yaml", use_aten_lib=True, **options)


def test_entries_without_kernels_use_atens_in_a_library_of_aten_mode(tmp_path: Path) -> None:
    assert bind_kernels(_aten_library(tmp_path), tmp_path) == []
    assert _table(tmp_path) == ['make_kernel<&::executorch::kernels::portable::mul_out>("aten::mul.out")']
    text = (tmp_path / "mine" / "RegisterKernels.cpp").read_text()
    assert '    "aten::add.out",\n    "aten::special_zeta.out",\n    "my::of_mine.out",\n};' in text
    assert "register_aten_kernels({kAtenOperators, 3})" in text and "KernelPriority::Override" in text


def test_only_selected_kernels_of_aten_are_registered(tmp_path: Path) -> None:
    bind_kernels(_aten_library(tmp_path), tmp_path, Selection({"aten::add.out": True}))
    text = (tmp_path / "mine" / "RegisterKernels.cpp").read_text()
    assert "register_aten_kernels({kAtenOperators, 1})" in text and "mul_out" not in text.partition("include")[2]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("- op: add.out\n- op: add.out\n", {}, r"functions.yaml:2.*aten::add.out has two entries.*yaml:1"),
        (ATEN, {"complete": True}, "a complete table cannot include ATen's kernels"),
    ],
)
def test_invalid_kernels_of_aten_are_refused(tmp_path: Path, text: str, options: dict, message: str) -> None:
    with pytest.raises(CodegenError, match=message):
        bind_kernels(_aten_library(tmp_path, text, **options), tmp_path)


def test_kernels_and_entry_points_have_their_documented_names(tmp_path: Path) -> None:
    names = ("aten::copy_", "aten::_softmax.out", "aten::mul.out", "aten::slice_copy.Tensor_out")
    bind_kernels(PORTABLE, tmp_path, Selection(dict.fromkeys(names, True)))
    native = (tmp_path / "mine" / "NativeFunctions.h").read_text().partition("torch::executor::native {")[2]
    assert "using ::executorch::kernels::portable::mul_out;" in native
    assert "using ::executorch::kernels::portable::copy_;" in native
    assert "auto& softmax_out = ::executorch::kernels::portable::_softmax_out;" in native
    assert "auto& slice_copy_Tensor_out = ::executorch::kernels::portable::slice_copy_tensor_out;" in native
    entries = (tmp_path / "mine" / "Functions.h").read_text()
    assert " mul_outf(" in entries and " copy_(" in entries and "copy__outf" not in entries
    assert "namespace torch::executor::aten {\nusing namespace ::executorch::kernels::aten;\n" in entries


def test_custom_kernels_get_no_documented_aliases(tmp_path: Path, custom: Library) -> None:
    bind_kernels(custom, tmp_path)
    native = (tmp_path / "mine" / "NativeFunctions.h").read_text()
    assert "custom" not in native.partition("torch::executor::native {")[2]
