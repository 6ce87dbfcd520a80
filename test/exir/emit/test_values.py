# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The emitter's values of arguments, weights, inputs and outputs."""

from typing import Any

import pytest
import torch
from oracle.models.program_interpreter import Method
from torch import nn
from torch.export import Dim, export

from executorch.exir import ExecutorchBackendConfig, ExecutorchProgramManager, to_edge
from executorch.exir import schema as s
from executorch.exir.emit import emit_program
from executorch.exir.error import ExportError
from executorch.exir.passes.memory.memory_planning_pass import MemoryPlanningPass
from executorch.exir.serialize import deserialize_pte


def compiled(model: nn.Module, *inputs: Any, **options: Any) -> ExecutorchProgramManager:
    return to_edge(export(model.eval(), inputs)).to_executorch(ExecutorchBackendConfig(**options))


class Counter(nn.Module):
    def __init__(self, start: float) -> None:
        super().__init__()
        self.register_buffer("count", torch.full((2,), start))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        return x + self.count


def test_equal_constants_are_one_value_and_sizes_in_lists_are_values() -> None:
    class Permutes(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.permute(1, 0, 2).exp().permute(1, 0, 2)

    (plan,) = compiled(Permutes(), torch.randn(2, 3, 4)).executorch_program.execution_plan
    lists = [value.val for value in plan.values if isinstance(value.val, s.IntList)]
    assert len(lists) == 1
    assert [plan.values[item].val for item in lists[0].items] == [s.Int(1), s.Int(0), s.Int(2)]
    assert len({str(value.val) for value in plan.values if isinstance(value.val, s.Int)}) == sum(
        isinstance(value.val, s.Int) for value in plan.values
    )
    assert len(plan.operators) == len({(operator.name, operator.overload) for operator in plan.operators})


def test_weights_are_stored_once_across_names_and_methods() -> None:
    class Shares(nn.Module):
        def __init__(self, weight: torch.Tensor) -> None:
            super().__init__()
            self.a, self.b = nn.Parameter(weight), nn.Parameter(weight.clone())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.a + self.b

    weight, x = torch.randn(5, 4), torch.randn(5, 4)
    methods = {name: export(Shares(weight), (x,)) for name in ("first", "second")}
    program = to_edge(methods).to_executorch().executorch_program
    assert [len(buffer.storage) for buffer in program.constant_buffer] == [0, weight.nbytes]


def test_weights_are_not_copied_before_they_are_written() -> None:
    model = nn.Linear(32, 32, bias=False)
    program = compiled(nn.Sequential(nn.Flatten(), model), torch.randn(1, 32)).executorch_program
    assert all(isinstance(buffer.storage, memoryview) for buffer in program.constant_buffer[1:])


def test_a_mutable_buffer_starts_with_its_value_and_keeps_what_is_written() -> None:
    program = compiled(Counter(5.0), torch.zeros(2))
    assert program._emitter_output.mutable_data is not None
    method = Method(program.buffer)
    assert [method(torch.zeros(2))[0].tolist() for _ in range(3)] == [[6.0] * 2, [7.0] * 2, [8.0] * 2]


def test_a_buffer_of_zeros_takes_no_space_in_the_file() -> None:
    program = compiled(Counter(0.0), torch.zeros(2))
    assert program._emitter_output.mutable_data is None
    method = Method(program.buffer, zeroed=True)
    assert [method(torch.zeros(2))[0].tolist() for _ in range(2)] == [[1.0] * 2, [2.0] * 2]


def test_mutable_buffers_can_carry_their_names() -> None:
    program = compiled(Counter(1.0), torch.zeros(2), emit_mutable_buffer_names=True).executorch_program
    tensors = [value.val for value in program.execution_plan[0].values if isinstance(value.val, s.Tensor)]
    assert [tensor.extra_tensor_info.fully_qualified_name for tensor in tensors if tensor.extra_tensor_info] == [
        "count"
    ]


def test_an_unplanned_mutable_buffer_is_refused_by_name() -> None:
    with pytest.raises(ExportError, match="count"):
        compiled(Counter(1.0), torch.zeros(2), memory_planning_pass=MemoryPlanningPass(alloc_mutable_buffers=False))


def test_outputs_of_every_kind() -> None:
    class Mixed(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            left, right = torch.split(x, [1, 3], dim=1)
            most, where = x.max(dim=1)
            return [left + 1, {"k": right.sum(), "z": None}], most, where, 3, x

    x = torch.randn(3, 4)
    found = Method(compiled(Mixed(), x).buffer)(x)
    expected = torch.utils._pytree.tree_leaves(Mixed()(x))
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other) if isinstance(other, torch.Tensor) else pytest.approx(one, other)


def test_sizes_are_computed_at_run_time() -> None:
    class Sizes(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return (x.reshape(-1) * 2).reshape(x.shape[0], 2, 2) + x.shape[0], x.shape[0] * 2 + 1

    shapes = {"x": {0: Dim("rows", min=2, max=8)}}
    method = Method(to_edge(export(Sizes(), (torch.randn(3, 4),), dynamic_shapes=shapes)).to_executorch().buffer)
    for rows in (3, 8, 2):
        x = torch.randn(rows, 4)
        torch.testing.assert_close(method(x), list(Sizes()(x)))


def test_inputs_and_outputs_may_be_left_to_the_caller() -> None:
    class Reshapes(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.reshape(2, 6).exp().reshape(12) + 1

    plan = MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False)
    program, x = compiled(Reshapes(), torch.randn(3, 4), memory_planning_pass=plan), torch.randn(3, 4)
    (method,) = program.executorch_program.execution_plan
    for index in (*method.inputs, *method.outputs):
        value = method.values[index].val
        assert isinstance(value, s.Tensor) and value.allocation_info is None
    torch.testing.assert_close(Method(program.buffer)(x)[0], Reshapes()(x))


def test_constant_methods_return_their_values() -> None:
    values = {"answer": 42, "ratio": 0.5, "yes": True, "name": "n", "kind": torch.int8, "many": [1, (2, 3)]}
    tensor = torch.arange(4.0)
    exported = export(nn.ReLU(), (torch.randn(2),))
    program = to_edge(exported, constant_methods={**values, "tensor": tensor}).to_executorch()
    assert program.config_methods >= set(values)
    for name, expected in (("answer", [42]), ("ratio", [0.5]), ("yes", [True]), ("name", ["n"]), ("many", [1, 2, 3])):
        assert Method(program.buffer, name)() == expected
    assert Method(program.buffer, "kind")() == [int(s.ScalarType.CHAR)]
    assert torch.equal(Method(program.buffer, "tensor")()[0], tensor)


def test_stack_traces_name_the_users_line() -> None:
    program = compiled(Counter(1.0), torch.zeros(2), emit_stacktrace=True).executorch_program
    (chain,) = program.execution_plan[0].chains
    assert chain.stacktrace is not None and len(chain.stacktrace) == len(chain.instructions)
    frames = [frame for stack in chain.stacktrace for frame in stack.items]
    assert any(frame.filename == __file__ and "self.count" in frame.context for frame in frames)
    assert deserialize_pte(compiled(Counter(1.0), torch.zeros(2), emit_stacktrace=True).buffer).program == program


def test_debug_handles_follow_instructions() -> None:
    program = compiled(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), torch.randn(1, 4))
    instructions = program.executorch_program.execution_plan[0].chains[0].instructions
    handles = program.debug_handle_map["forward"]
    assert set(handles) <= set(range(len(instructions))) and handles


def test_a_graph_without_a_plan_is_refused() -> None:
    with pytest.raises(ExportError, match="not planned"):
        emit_program(export(nn.ReLU(), (torch.randn(2),)))


def test_a_value_that_cannot_be_emitted_is_named_with_its_source_line() -> None:
    exported = compiled(nn.Sequential(nn.ReLU()), torch.randn(2)).exported_program()
    node = next(node for node in exported.graph.nodes if node.target is torch.ops.aten.relu.out)
    node.args = (1j,)
    with pytest.raises(ExportError, match=r"node 'aten_relu_default'.*torch/nn.*complex"):
        emit_program(exported)


def test_a_symbolic_size_cannot_be_emitted() -> None:
    exported = compiled(nn.ReLU(), torch.randn(2, 3)).exported_program()
    next(iter(exported.graph.nodes)).meta["spec"].shape[0] = "s0"
    with pytest.raises(ExportError, match="size s0 has no value"):
        emit_program(exported)
