# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""MemoryPlanningPass on whole methods: options, users' algorithms, pools, and how tight the plans are."""

import typing
from collections.abc import Callable
from typing import Any

import pytest
import torch
from models import make
from oracle.models.program_interpreter import Method
from torch import nn
from torch.export import export

from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.memory_planning import (
    MemoryAlgoResult,
    MemoryPlanningAlgorithmSuite,
    MemoryPlanningError,
    Verifier,
    collect_specs_from_nodes,
    exact,
    get_node_tensor_specs,
    greedy,
    naive,
)
from executorch.exir.passes.memory.memory_planning_pass import MemoryPlanningPass
from executorch.exir.schema import DeviceType, Tensor
from executorch.exir.tensor import TensorSpec


class Chain(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        for _ in range(4):
            x = (x + y).sin() * y
        return x.reshape(-1)[:16] * 2


INPUTS = (torch.randn(8, 8), torch.randn(8, 8))


def compile_with(planner: Any, model: nn.Module | None = None, inputs: Any = INPUTS) -> Any:
    exported = export((model or Chain()).eval(), inputs)
    return to_edge(exported).to_executorch(ExecutorchBackendConfig(memory_planning_pass=planner))


def sizes_of(program: Any) -> list[int]:
    sizes: list[int] = program.executorch_program.execution_plan[0].non_const_buffer_sizes
    return sizes


def assert_like_eager(program: Any) -> None:
    torch.testing.assert_close(Method(program.buffer)(*INPUTS)[0], Chain()(*INPUTS))


@pytest.mark.filterwarnings("ignore:The tensor attributes")  # torch.export's, of nn.LSTM and nn.GRU
@pytest.mark.parametrize("name", ["mlp", "lstm", "gru", "decoder"])
def test_the_default_plan_of_a_model_is_proven_optimal(name: str) -> None:
    model, inputs = make(name)
    plan = compile_with(MemoryPlanningPass(), model, inputs).memory_plans["forward"]
    assert plan.is_optimal and plan.size == plan.lower_bound and plan.gap == 0


@pytest.mark.parametrize("algorithm", [exact, greedy, naive, MemoryPlanningAlgorithmSuite([naive, greedy])])
def test_every_algorithm_matches_eager(algorithm: Callable[..., Any]) -> None:
    assert_like_eager(compile_with(MemoryPlanningPass(algorithm)))


def test_naive_shares_nothing_and_greedy_does() -> None:
    assert sizes_of(compile_with(MemoryPlanningPass(naive)))[1] > 2 * sizes_of(compile_with(MemoryPlanningPass()))[1]


def test_the_suite_takes_the_smaller_result() -> None:
    suite = MemoryPlanningAlgorithmSuite(algo_list=[naive, greedy])
    assert sizes_of(compile_with(MemoryPlanningPass(suite))) == sizes_of(compile_with(MemoryPlanningPass(greedy)))


@pytest.mark.parametrize("alignment", [16, 64, 256])
def test_every_tensor_begins_at_the_alignment(alignment: int) -> None:
    program = compile_with(MemoryPlanningPass(alignment=alignment))
    assert_like_eager(program)
    values = [value.val for value in program.executorch_program.execution_plan[0].values]
    offsets = [
        value.allocation_info.memory_offset for value in values if isinstance(value, Tensor) and value.allocation_info
    ]
    assert offsets and all(offset % alignment == 0 for offset in offsets)


class ElementsOfManySizes(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        odd = x.flatten()[:3] > 0
        counted = odd.cumsum(0)
        return (counted * 2 + odd).to(torch.float64) * x.flatten()[:3]


@pytest.mark.parametrize("algorithm", [exact, greedy, naive])
def test_an_alignment_of_one_byte_still_aligns_elements(algorithm: Callable[..., Any]) -> None:
    program = compile_with(MemoryPlanningPass(algorithm, alignment=1), ElementsOfManySizes())
    torch.testing.assert_close(Method(program.buffer)(*INPUTS)[0], ElementsOfManySizes()(*INPUTS))


def test_a_users_function_plans_with_the_documented_arguments() -> None:
    seen: dict[str, Any] = {}

    def backwards(alignment: int, specs: Any, graph_module: Any, graph_signature: Any, extra_padding: int) -> list[int]:
        seen.update(alignment=alignment, signature=graph_signature, graph_module=graph_module)
        end = 0
        for spec in reversed(list(specs)):
            spec.realign(alignment)
            spec.mem_id, spec.mem_offset = 1, end
            end += spec.allocated_memory
        return [0, end + extra_padding]

    assert_like_eager(compile_with(MemoryPlanningPass(memory_planning_algo=backwards)))
    assert seen["alignment"] == 16 and seen["signature"].user_inputs == ("x", "y")


def test_a_users_faulty_plan_is_refused() -> None:
    def all_at_zero(alignment: int, specs: Any, *_: Any) -> list[int]:
        for spec in specs:
            spec.mem_id, spec.mem_offset = 1, 0
        return [0, max(spec.allocated_memory for spec in specs)]

    with pytest.raises(MemoryPlanningError, match="share bytes of arena 1"):
        compile_with(MemoryPlanningPass(memory_planning_algo=all_at_zero))
    compile_with(MemoryPlanningPass(all_at_zero, allow_lifetime_and_storage_overlap=True))


def test_a_pass_may_choose_pools() -> None:
    class Pools(MemoryPlanningPass):
        def run(self, graph_module: Any, graph_signature: Any = None) -> Any:
            for node in graph_module.graph.nodes:
                if node.target == torch.ops.aten.add.out:
                    node.meta["spec"].mem_id = 3
            return super().run(graph_module, graph_signature)

    program = compile_with(Pools())
    assert [bool(size) for size in sizes_of(program)] == [False, True, False, True]
    assert_like_eager(program)


@pytest.mark.parametrize("planned_input", [True, False])
@pytest.mark.parametrize("planned_output", [True, False])
def test_inputs_and_outputs_are_planned_as_configured(planned_input: bool, planned_output: bool) -> None:
    planner = MemoryPlanningPass(alloc_graph_input=planned_input, alloc_graph_output=planned_output)
    program = compile_with(planner)
    (plan,) = program.executorch_program.execution_plan
    for indices, planned in ((plan.inputs, planned_input), (plan.outputs, planned_output)):
        assert all((plan.values[index].val.allocation_info is not None) is planned for index in indices)
    exported = program.exported_program()
    verifier = Verifier(exported.graph_module, planned_input, planned_output, True, exported.graph_signature)
    verifier.verify_graph_input_output()
    verifier.verify_storage_reuse()
    with pytest.raises(MemoryPlanningError, match="graph input"):
        Verifier(exported.graph_module, not planned_input, planned_output, True).verify_graph_input_output()


def test_mutable_buffers_of_several_methods_can_be_one_memory() -> None:
    class Counts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count.add_(x)
            return self.count * 2

    methods = {name: export(Counts(), (torch.ones(3),)) for name in ("up", "also_up")}
    planner = MemoryPlanningPass(share_mutable_buffers=True)
    program = to_edge(methods).to_executorch(ExecutorchBackendConfig(memory_planning_pass=planner)).executorch_program
    places = [
        value.val.allocation_info
        for plan in program.execution_plan
        for value in plan.values
        if isinstance(value.val, Tensor) and value.val.allocation_info and value.val.allocation_info.memory_id == 2
    ]
    assert len(places) == 2 and places[0] == places[1]
    assert all(len(plan.non_const_buffer_sizes) == 3 for plan in program.execution_plan)


def test_the_documented_custom_pools_run_as_written() -> None:
    """The example of the public page on memory planning, as it stands."""
    from executorch import exir

    GraphModule, Optional = torch.fx.GraphModule, typing.Optional
    PassResult, ExportGraphSignature = exir.pass_base.PassResult, torch.export.ExportGraphSignature

    class CustomPoolMemoryPlanningPass(MemoryPlanningPass):
        def run(self, graph_module: GraphModule, graph_signature: Optional[ExportGraphSignature]) -> PassResult:  # type: ignore[valid-type]
            for subgm in graph_module.modules():
                if not isinstance(subgm, GraphModule):
                    continue
                for node in subgm.graph.nodes:
                    # mem_id = 1 placeholder and outputs of mul
                    # mem_id = 2 for outputs of add
                    # parent class will copy spec will to alloc nodes
                    if node.op == "placeholder":
                        node.meta["spec"].mem_id = 1
                        continue

                    if node.op != "call_function":
                        continue

                    if node.target == torch.ops.aten.add.out:
                        node.meta["spec"].mem_id = 2
                    elif node.target == torch.ops.aten.mul.out:
                        node.meta["spec"].mem_id = 1

            return super().run(graph_module, graph_signature)

    edge_program = to_edge(export(Chain().eval(), INPUTS))
    program = edge_program.to_executorch(
        exir.ExecutorchBackendConfig(
            memory_planning_pass=CustomPoolMemoryPlanningPass(
                memory_planning_algo=greedy,
            )
        )
    )
    assert all(sizes_of(program)[1:]) and len(sizes_of(program)) == 3
    assert_like_eager(program)


def test_each_arena_has_its_own_proof() -> None:
    class Pools(MemoryPlanningPass):
        def run(self, graph_module: Any, graph_signature: Any = None) -> Any:
            for node in graph_module.graph.nodes:
                if node.target == torch.ops.aten.add.out:
                    node.meta["spec"].mem_id = 2
            return super().run(graph_module, graph_signature)

    plan = compile_with(Pools()).memory_plans["forward"]
    assert [arena.mem_id for arena in plan.arenas] == [1, 2]
    assert all(arena.size == arena.lower_bound > 0 for arena in plan.arenas)
    assert {tensor.mem_id for tensor in plan.tensors if tensor.operator == "aten::add.out"} == {2}


def test_a_users_plan_is_measured_against_the_bound_too() -> None:
    plan = compile_with(MemoryPlanningPass(naive)).memory_plans["forward"]
    assert not plan.is_optimal and plan.gap > 1


def test_specs_of_nodes_can_be_listed() -> None:
    exported = compile_with(MemoryPlanningPass()).exported_program()
    nodes = exported.graph.nodes
    everything = list(collect_specs_from_nodes(nodes, exported.graph_signature))
    assert len(everything) == len(set(everything)) > 4
    inputs = {spec for node in nodes if node.op == "placeholder" for spec in get_node_tensor_specs(node)}
    inner = set(collect_specs_from_nodes(nodes, exported.graph_signature, ignore_graph_input=True))
    assert inner == set(everything) - inputs
    assert all(isinstance(spec, TensorSpec) and spec.lifetime[0] is not None for spec in everything)


def test_a_tensor_on_another_device_is_refused() -> None:
    class OnDevice(MemoryPlanningPass):
        def run(self, graph_module: Any, graph_signature: Any = None) -> Any:
            node = next(node for node in graph_module.graph.nodes if node.target == torch.ops.aten.add.out)
            node.meta["spec"].device = DeviceType.CUDA
            return super().run(graph_module, graph_signature)

    with pytest.raises(MemoryPlanningError, match="device CUDA"):
        compile_with(OnDevice())


def test_an_algorithm_of_a_suite_must_return_a_result() -> None:
    with pytest.raises(MemoryPlanningError, match="MemoryAlgoResult"):
        compile_with(MemoryPlanningPass(MemoryPlanningAlgorithmSuite([lambda *_: [0, 0]])))
    assert MemoryAlgoResult({}, [0, 150], [0, 100]).gap == 0.5
