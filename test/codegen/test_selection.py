# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The selection is exactly the union of programs, lists and yaml files."""

import itertools
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from executorch.codegen import CodegenError, Selection, select_operators
from executorch.codegen.dtypes import SCALAR_TYPE_CODES, meeting, promote
from executorch.codegen.program_use import PROGRAM_SCHEMA, read_program_use
from executorch.exir import to_edge
from executorch.exir.serialize.deserialize import deserialize_pte

PEER = Path(__file__).resolve().parents[1] / "data" / "peer"
TORCH_NAMES = {
    "Byte": torch.uint8, "Char": torch.int8, "Short": torch.int16, "Int": torch.int32, "Long": torch.int64,
    "Half": torch.float16, "Float": torch.float32, "Double": torch.float64, "Bool": torch.bool,
    "BFloat16": torch.bfloat16, "UInt16": torch.uint16, "UInt32": torch.uint32, "UInt64": torch.uint64,
    "ComplexHalf": torch.complex32, "ComplexFloat": torch.complex64, "ComplexDouble": torch.complex128,
}  # fmt: skip


@pytest.mark.parametrize("program", sorted(PEER.glob("*.pte")), ids=lambda path: path.stem)
def test_the_operators_of_a_program_are_those_that_the_compilers_reader_finds(program: Path) -> None:
    parsed = deserialize_pte(program.read_bytes()).program
    expected = {
        f"{op.name}.{op.overload}" if op.overload else op.name
        for plan in parsed.execution_plan
        for op in plan.operators
    }
    assert read_program_use(program).operators.keys() == expected


def test_operators_and_dtypes_of_several_programs_are_united(tmp_path: Path) -> None:
    selection = select_operators(["mul.out"], [], [PEER / "add.pte", PEER / "conv.pte"])
    assert selection.operators["aten::add.out"] is False and selection.operators["aten::mul.out"] is True
    assert any(name.startswith("aten::convolution") for name in selection.operators)
    assert selection.dtypes == {"Float"}
    selection.save(tmp_path / "selected_operators.yaml")
    assert Selection.load(tmp_path / "selected_operators.yaml") == selection


def test_a_saved_selection_is_part_of_another(tmp_path: Path) -> None:
    saved = tmp_path / "selected_operators.yaml"
    select_operators([], [], [PEER / "add.pte"]).save(saved)
    assert select_operators([], [saved]) == select_operators([], [], [PEER / "add.pte"])
    assert select_operators(["mul.out"], [saved], [PEER / "conv.pte"]) == select_operators(
        ["mul.out"], [], [PEER / "add.pte", PEER / "conv.pte"]
    )
    select_operators(["add.out"]).save(saved)
    assert select_operators([], [saved], [PEER / "add.pte"]).operators == {"aten::add.out": True}
    select_operators(include_all=True).save(saved)
    assert select_operators([], [saved]).include_all


def test_an_operators_dtypes_are_limited_if_every_request_limits_them(tmp_path: Path) -> None:
    half = {"aten::add.out": frozenset({"Half"})}
    selection = select_operators(program_paths=[PEER / "add.pte"], operator_dtypes=half)
    assert selection.operators == {"aten::add.out": True}
    assert selection.dtypes_of("aten::add.out") == {"Float", "Half"}
    byte = {"aten::mul.out": frozenset({"Byte"})}
    selection = select_operators(["add.out"], program_paths=[PEER / "add.pte"], operator_dtypes=byte)
    assert selection.dtypes_of("aten::add.out") == {"Float", "Byte"}
    assert selection.dtypes_of("aten::mul.out") == {"Byte"}
    selection = select_operators(["add.out"], operator_dtypes=half | {"aten::mul.out": frozenset()})
    assert selection.dtypes_of("aten::add.out") == {"Half"} < selection.dtypes_of("aten::mul.out")
    saved = tmp_path / "selected_operators.yaml"
    selection.save(saved)
    assert Selection.load(saved) == select_operators([], [saved]) == selection


def test_an_operator_has_every_dtype_if_only_others_are_limited() -> None:
    selection = select_operators(["add.out"], operator_dtypes={"aten::mul.out": frozenset()})
    assert selection.dtypes_of("aten::add.out") == frozenset(SCALAR_TYPE_CODES)


def test_dtypes_include_those_to_which_operands_promote(tmp_path: Path) -> None:
    class Compare(torch.nn.Module):
        def forward(self, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return a < b, a < 1.5

    program = tmp_path / "compare.pte"
    exported = torch.export.export(Compare(), (torch.ones(2, dtype=torch.uint8), torch.ones(2, dtype=torch.int8)))
    program.write_bytes(to_edge(exported).to_executorch().buffer)
    assert read_program_use(program).dtypes >= {"Byte", "Char", "Bool", "Short", "Float"}


def test_dtypes_promote_as_in_torch() -> None:
    for a, b in itertools.product(TORCH_NAMES, TORCH_NAMES):
        try:
            expected = torch.promote_types(TORCH_NAMES[a], TORCH_NAMES[b])
        except RuntimeError:  # torch has no answer for some pairs with uint16, uint32 and uint64
            continue
        found = promote(a, b)
        assert found is not None and TORCH_NAMES[found] == expected, (a, b)


@given(st.sets(st.sampled_from(sorted(SCALAR_TYPE_CODES))), st.booleans())
def test_the_dtypes_of_operands_are_among_the_promoted_ones(dtypes: set[str], has_floating_number: bool) -> None:
    assert meeting(dtypes, has_floating_number=has_floating_number) >= dtypes


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"", "identifier"), (b"\xff" * 64, "identifier"), (b"\xff\xff\xff\x7fET12" + bytes(64), "not a valid program")],
)
def test_other_bytes_than_a_program_are_refused(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "wrong.pte").write_bytes(data)
    with pytest.raises(CodegenError, match=message) as caught:
        select_operators(program_paths=[tmp_path / "wrong.pte"])
    assert "wrong.pte" in str(caught.value)


@given(st.data())
def test_a_damaged_program_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    whole = bytearray((PEER / "cond.pte").read_bytes()[:4000])
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(8, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damaged") / "damaged.pte"
    path.write_bytes(whole)
    try:
        read_program_use(path)
    except CodegenError as e:
        assert "damaged.pte" in str(e)


def test_an_empty_selection_is_an_error() -> None:
    with pytest.raises(CodegenError, match="the selection is empty"):
        select_operators([""])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("operatos: {}\n", ":1: unknown key 'operatos'"),
        ("operators: {}\ndtypes: [Flot]\n", ":2: unknown dtype 'Flot'"),
        ("operators:\n  aten::add.out: {is_root_operator: 1}\n", ":2: expected is_root_operator"),
        ("operators:\n  aten::add.out: {include_all_dtypes: 1}\n", ":2: expected include_all_dtypes"),
    ],
)
def test_a_wrong_selection_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "selection.yaml").write_text(text)
    with pytest.raises(CodegenError, match=message):
        Selection.load(tmp_path / "selection.yaml")


def test_the_schema_is_the_one_of_the_runtime() -> None:
    assert PROGRAM_SCHEMA.exists()
