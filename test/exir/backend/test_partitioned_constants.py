# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Constants and state of partitions: which go to the delegate, which stay in the program."""

from __future__ import annotations

import pytest
import torch
from models.tagging_partitioner import TagsBy, TwoLinears, assert_same, by_name, core_aten, operators
from torch.export import ExportedProgram

from executorch.exir.backend.backend_api import to_backend
from executorch.exir.backend.partition.partition_error import PartitionError
from executorch.exir.backend.partitioner import PartitionResult
from executorch.exir.lowered_backend_module import get_lowered_backend_modules


def test_constants_that_are_tagged_leave_the_parents_signature() -> None:
    model, inputs = TwoLinears(), (torch.randn(3, 2),)
    lowered = to_backend(core_aten(model, inputs), TagsBy(operators("mm", "add", "sin"), constants=True))
    assert not lowered.state_dict and not lowered.constants
    assert [spec.kind.name for spec in lowered.graph_signature.input_specs] == ["USER_INPUT"]
    (module,) = get_lowered_backend_modules(lowered.graph_module)
    inner = module.original_module
    assert set(inner.graph_signature.parameters) == {"w"} and set(inner.graph_signature.buffers) == {"shift"}
    assert_same(lowered, model, inputs)


def test_constants_that_are_not_tagged_are_inputs_of_the_delegate() -> None:
    model, inputs = TwoLinears(), (torch.randn(3, 2),)
    lowered = to_backend(core_aten(model, inputs), TagsBy(operators("mm", "add", "sin")))
    assert set(lowered.graph_signature.parameters) == {"w"} and set(lowered.graph_signature.buffers) == {"shift"}
    assert_same(lowered, model, inputs)


def test_a_weight_of_two_partitions_goes_to_both_without_being_copied() -> None:
    model, inputs = TwoLinears(), (torch.randn(3, 2),)
    choose = by_name(mm="a", mm_1="b")
    lowered = to_backend(core_aten(model, inputs), TagsBy(choose, constants=True))
    first, second = (module.original_module for module in get_lowered_backend_modules(lowered.graph_module))
    assert first.state_dict["w"].data_ptr() == second.state_dict["w"].data_ptr() == model.w.data_ptr()
    assert "w" not in lowered.state_dict
    assert_same(lowered, model, inputs)


def test_a_weight_that_the_parent_reads_too_stays_there_as_well() -> None:
    model, inputs = TwoLinears(), (torch.randn(3, 2),)
    lowered = to_backend(core_aten(model, inputs), TagsBy(by_name(mm="a"), constants=True))
    (module,) = get_lowered_backend_modules(lowered.graph_module)
    assert "w" in lowered.state_dict and "w" in module.original_module.state_dict
    assert_same(lowered, model, inputs)


def test_a_shared_constant_marked_no_copy_is_refused() -> None:
    class NoCopy(TagsBy):
        def partition(self, exported_program: ExportedProgram) -> PartitionResult:
            result = super().partition(exported_program)
            exported_program.graph.find_nodes(op="placeholder")[0].meta["no_copy"] = True
            return result

    program = core_aten(TwoLinears(), (torch.randn(3, 2),))
    with pytest.raises(
        RuntimeError, match=r"p_w.*no_copy.*tagged with \(a\) but has user \(mm_1\) which has tag \(b\)"
    ):
        to_backend(program, NoCopy(by_name(mm="a", mm_1="b"), constants=True))


class Counter(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.zeros(2))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.state.add_(x)
        return self.state * 2, x.sin()


@pytest.mark.parametrize("owned", [True, False], ids=["owned by the delegate", "kept by the program"])
def test_a_buffer_that_is_updated_in_a_partition_keeps_its_state(owned: bool) -> None:
    reference, inputs = Counter(), (torch.ones(2),)
    lowered = to_backend(core_aten(Counter(), inputs), TagsBy(operators("add", "mul"), mutated=owned))
    assert ("state" in lowered.state_dict) is not owned
    assert bool(lowered.graph_signature.buffers_to_mutate) is not owned
    (module,) = get_lowered_backend_modules(lowered.graph_module)
    assert bool(module.original_module.graph_signature.buffers_to_mutate) is owned
    runnable = lowered.module()
    for _ in range(3):
        torch.testing.assert_close(runnable(*inputs), reference(*inputs))


def test_a_buffer_read_in_one_partition_and_updated_outside_stays_with_the_program() -> None:
    lowered = to_backend(core_aten(Counter(), (torch.ones(2),)), TagsBy(operators("mul"), constants=True, mutated=True))
    assert "state" in lowered.state_dict


def test_an_updated_buffer_tagged_without_its_update_is_refused() -> None:
    program = core_aten(Counter(), (torch.ones(2),))
    with pytest.raises(PartitionError, match="b_state"):
        to_backend(program, TagsBy(by_name(b_state="t", mul="t")))


@pytest.mark.parametrize("operator_tag", ["t", "other"])
def test_a_tagged_user_input_is_refused(operator_tag: str) -> None:
    with pytest.raises(RuntimeError, match="placeholder x carries tag 't', but it is a USER_INPUT"):
        to_backend(core_aten(Counter(), (torch.ones(2),)), TagsBy(by_name(x="t", sin=operator_tag)))


def test_a_tagged_output_is_refused() -> None:
    with pytest.raises(RuntimeError, match="output node carries tag"):
        to_backend(core_aten(Counter(), (torch.ones(2),)), TagsBy(by_name(output="t")))
