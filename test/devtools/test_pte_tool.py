# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`diff_pte` finds and prints the differences between two files."""

from pathlib import Path

import pytest
import torch
from torch.export import export

from executorch.backends.xnnpack import XnnpackPartitioner
from executorch.devtools.pte_tool.diff_pte import diff_pte, format_diff_result, main
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.schema import KernelCall, Tensor
from executorch.exir.serialize import deserialize_pte
from executorch.exir.serialize.serialize import serialize_pte


def _file(model: torch.nn.Module, delegated: bool = False) -> bytes:
    partitioners = [XnnpackPartitioner()] if delegated else []
    exported = export(model.eval(), (torch.ones(2, 3),))
    return to_edge_transform_and_lower(exported, partitioner=partitioners).to_executorch().buffer


def _linear(change: float = 0.0) -> torch.nn.Linear:
    model = torch.nn.Linear(3, 4)
    torch.nn.init.ones_(model.weight)
    torch.nn.init.zeros_(model.bias)
    model.weight.data[1, 2] += change
    return model


def test_equal_files_are_equal() -> None:
    result = diff_pte(_file(_linear()), _file(_linear()))
    assert result.bitwise_equal and "bitwise equal" in format_diff_result(result)


def test_a_changed_weight_is_reported_with_its_place() -> None:
    result = diff_pte(_file(_linear()), _file(_linear(0.5)))
    (plan,) = result.plan_diffs
    (tensor,) = plan.tensor_diffs
    assert (tensor.num_elements, tensor.num_differing, tensor.max_abs_diff) == (12, 1, 0.5)
    assert [(element_diff.value_a, element_diff.value_b) for element_diff in tensor.element_diffs] == [(1.0, 1.5)]
    assert "1 / 12 elements differ" in format_diff_result(result, verbose=True)


def test_operators_of_only_one_file_are_named() -> None:
    text = format_diff_result(diff_pte(_file(torch.nn.ReLU()), _file(torch.nn.Sigmoid())))
    assert "Operators only in A: aten::relu.out" in text and "Operators only in B: aten::sigmoid.out" in text


def test_delegates_with_different_payloads_are_reported() -> None:
    text = format_diff_result(diff_pte(_file(_linear(), True), _file(_linear(0.5), True)))
    assert "XnnpackBackend" in text or "Named data differences" in text


def test_bytes_that_are_no_program_give_a_result_with_an_error() -> None:
    assert "Deserialization failed: B" in str(diff_pte(_file(_linear()), b"no program").error)


def test_an_index_of_nothing_gives_a_result_with_an_error() -> None:
    file = deserialize_pte(_file(_linear()))
    call = file.program.execution_plan[0].chains[0].instructions[0].instr_args
    assert isinstance(call, KernelCall)
    call.op_index = 99
    error = diff_pte(_file(_linear()), bytes(serialize_pte(file))).error
    assert "operator below" in str(error) and "found 99" in str(error)


def test_elements_of_a_negative_size_are_not_compared() -> None:
    files = []
    for weight in (0.0, 0.5):
        file = deserialize_pte(_file(_linear(weight)))
        for value in file.program.execution_plan[0].values:
            if isinstance(value.val, Tensor):
                value.val.sizes = [-size for size in value.val.sizes]
        files.append(bytes(serialize_pte(file)))
    (plan,) = diff_pte(*files).plan_diffs
    (tensor,) = plan.tensor_diffs
    assert (tensor.bytes_differ, tensor.num_elements) == (True, 0)


def test_the_command_prints_the_differences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, change in (("a", 0.0), ("b", 0.25)):
        (tmp_path / f"{name}.pte").write_bytes(_file(_linear(change)))
    assert main([str(tmp_path / "a.pte"), str(tmp_path / "b.pte"), "--max-samples", "1"]) == 0
    assert "max_abs_diff=0.25" in capsys.readouterr().out
    assert main([str(tmp_path / "a.pte"), str(tmp_path / "missing.pte")]) == 1


def test_the_command_fails_for_a_file_that_is_no_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.pte").write_bytes(_file(_linear()))
    (tmp_path / "b.pte").write_bytes(b"no program")
    assert main([str(tmp_path / "a.pte"), str(tmp_path / "b.pte")]) == 1
    assert f"Deserialization failed: {tmp_path / 'b.pte'}" in capsys.readouterr().out
