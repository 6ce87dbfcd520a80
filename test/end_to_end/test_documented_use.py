# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The public API as its users write it: each test is a use that the documentation of ExecuTorch 1.4 teaches."""

import json
from pathlib import Path

import pytest
import torch
from oracle.tolerances import MODEL
from torch.export import export
from torch.fx import GraphModule

from executorch import exir
from executorch.exir import (
    EdgeCompileConfig,
    EdgeProgramManager,
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    to_edge,
    to_edge_transform_and_lower,
)
from executorch.exir.backend.backend_api import to_backend
from executorch.exir.backend.test.backend_with_compiler_demo import BackendWithCompilerDemo
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.memory_planning import greedy
from executorch.exir.pass_base import ExportPass, PassResult
from executorch.exir.pass_manager import PassManager
from executorch.exir.passes import MemoryPlanningPass
from executorch.extension.pybindings.portable_lib import _load_for_executorch, _load_for_executorch_from_buffer
from executorch.runtime import Method, Program, Runtime, Verification


class SimpleConv(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(in_channels=3, out_channels=16, kernel_size=3, padding=1)
        self.relu = torch.nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.relu(self.conv(x))


class AddMul(torch.nn.Module):
    def forward(self, a: torch.Tensor, x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.mul(a, x) + b


def _adds(x: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> bytes:
    return to_edge(export(x, inputs)).to_executorch().buffer


def test_the_export_tutorial(tmp_path: Path) -> None:
    example_args = (torch.randn(1, 3, 256, 256),)
    model = SimpleConv()
    aten_dialect = export(model, example_args)
    edge_program: EdgeProgramManager = to_edge(aten_dialect, compile_config=EdgeCompileConfig(_check_ir_validity=True))
    assert "edge" in str(edge_program.exported_program().graph)
    executorch_program: ExecutorchProgramManager = edge_program.to_executorch(ExecutorchBackendConfig(passes=[]))
    path = tmp_path / "model.pte"
    with open(path, "wb") as file:
        file.write(executorch_program.buffer)
    module = _load_for_executorch(str(path))
    torch.testing.assert_close(module.forward(list(example_args))[0], model(*example_args), **MODEL)


def test_several_methods_and_their_graphs() -> None:
    class Encode(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.linear(x, torch.ones(5, 10))

    class Decode(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.linear(x, torch.ones(10, 5))

    programs = {"encode": export(Encode(), (torch.rand(1, 10),)), "decode": export(Decode(), (torch.rand(1, 5),))}
    edge = to_edge(programs, constant_methods={"version": 3})
    assert set(edge.methods) == {"encode", "decode"}
    assert set(edge.config_methods) == {"version"}
    for method in edge.methods:
        assert edge.exported_program(method).graph_module.graph.nodes
    module = _load_for_executorch_from_buffer(edge.to_executorch().buffer)
    assert module.run_method("encode", (torch.ones(1, 10),))[0].tolist() == [[10.0] * 5]
    assert module.run_method("version", ())[0] == 3


def test_the_python_runtime_tutorial(tmp_path: Path) -> None:
    path = tmp_path / "program.pte"
    path.write_bytes(_adds(AddMul(), (torch.ones(2, 2), torch.ones(2, 2), torch.ones(2, 2))))
    et_runtime: Runtime = Runtime.get()
    program: Program = et_runtime.load_program(path, verification=Verification.Minimal)
    assert program.method_names == {"forward"}
    forward: Method = program.load_method("forward")
    outputs = forward.execute((torch.ones(2, 2), 2 * torch.ones(2, 2), torch.ones(2, 2)))
    assert outputs[0].tolist() == [[3.0, 3.0], [3.0, 3.0]]
    assert "aten::add.out" in et_runtime.operator_registry.operator_names
    assert isinstance(et_runtime.backend_registry.registered_backend_names, list)


def test_a_pass_over_operators_as_in_the_guide() -> None:
    class ReplaceAddWithSub(ExportPass):
        def call_operator(self, op, args, kwargs, meta):
            if op != exir_ops.edge.aten.add.Tensor:
                return super().call_operator(op, args, kwargs, meta)
            return super().call_operator(exir_ops.edge.aten.sub.Tensor, args, kwargs, meta)

    class CountNodes(ExportPass):
        def call(self, graph_module: GraphModule) -> PassResult:
            graph_module.meta["count"] = len(graph_module.graph.nodes)
            return PassResult(graph_module, False)

    inputs = (torch.ones(2), torch.ones(2), torch.ones(2))
    edge = to_edge(export(AddMul(), inputs)).transform([ReplaceAddWithSub(), CountNodes()])
    (output,) = _load_for_executorch_from_buffer(edge.to_executorch().buffer).forward(inputs)
    assert output.tolist() == [0.0, 0.0]
    graph_module = edge.exported_program().graph_module
    result = PassManager(passes=[CountNodes()])(graph_module)
    assert result is not None and result.graph_module.meta["count"] == len(graph_module.graph.nodes)


def test_a_pass_on_a_plain_aten_graph() -> None:
    class ReplaceAddWithDiv(ExportPass):
        def call_operator(self, op, args, kwargs, meta):
            target = torch.ops.aten.div.Tensor if op == torch.ops.aten.add.Tensor else op
            return super().call_operator(target, args, kwargs, meta)

    inputs = (torch.ones(2), torch.ones(2), 4 * torch.ones(2))
    graph_module = export(AddMul(), inputs).graph_module
    result = ReplaceAddWithDiv()(graph_module)
    assert result is not None
    assert result.graph_module(*inputs)[0].tolist() == [0.25, 0.25]


def test_memory_pools_chosen_by_a_pass_as_in_the_guide() -> None:
    class CustomPoolMemoryPlanningPass(MemoryPlanningPass):
        def run(self, graph_module, graph_signature=None):
            for subgm in graph_module.modules():
                if not isinstance(subgm, GraphModule):
                    continue
                for node in subgm.graph.nodes:
                    if node.op == "placeholder":
                        node.meta["spec"].mem_id = 1
                    elif node.target == torch.ops.aten.add.out:
                        node.meta["spec"].mem_id = 2
                    elif node.target == torch.ops.aten.mul.out:
                        node.meta["spec"].mem_id = 1
            return super().run(graph_module, graph_signature)

    inputs = (torch.ones(2, 2), 3 * torch.ones(2, 2), torch.ones(2, 2))
    config = exir.ExecutorchBackendConfig(
        passes=[], memory_planning_pass=CustomPoolMemoryPlanningPass(memory_planning_algo=greedy)
    )
    program = to_edge(export(AddMul(), inputs)).to_executorch(config)
    sizes = program.executorch_program.execution_plan[0].non_const_buffer_sizes
    assert len(sizes) == 3 and all(sizes[1:])
    assert _load_for_executorch_from_buffer(program.buffer).forward(inputs)[0].tolist() == [[4.0] * 2] * 2


def test_inputs_and_outputs_left_to_the_caller() -> None:
    config = ExecutorchBackendConfig(
        memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False)
    )
    inputs = (torch.ones(2, 2), 3 * torch.ones(2, 2), torch.ones(2, 2))
    program = to_edge(export(AddMul(), inputs)).to_executorch(config)
    assert _load_for_executorch_from_buffer(program.buffer).forward(inputs)[0].tolist() == [[4.0] * 2] * 2


def test_a_whole_module_delegated_and_composed() -> None:
    class SinModule(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sin(x)

    x = torch.ones(1)
    edge = to_edge(export(SinModule(), (x,)))
    lowered = to_backend(BackendWithCompilerDemo.__name__, edge.exported_program(), [])
    torch.testing.assert_close(lowered(x), torch.sin(x))

    class Composite(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lowered = lowered

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.lowered(x) + 1

    program = to_edge(export(Composite(), (x,))).to_executorch()
    (delegate,) = program.executorch_program.execution_plan[0].delegates
    assert delegate.id == "BackendWithCompilerDemo"
    with pytest.raises(RuntimeError, match="BackendWithCompilerDemo"):
        _load_for_executorch_from_buffer(program.buffer).forward((x,))


def test_transform_and_lower_without_a_partitioner_is_to_edge() -> None:
    inputs = (torch.ones(2), torch.ones(2), torch.ones(2))
    lowered = to_edge_transform_and_lower(export(AddMul(), inputs)).to_executorch()
    assert lowered.buffer == to_edge(export(AddMul(), inputs)).to_executorch().buffer


def test_memory_planning_is_inspected_as_in_the_guide(tmp_path: Path) -> None:
    from executorch.util.activation_memory_profiler import generate_memory_trace

    inputs = (torch.ones(2, 2), 3 * torch.ones(2, 2), torch.ones(2, 2))
    prog = to_edge(export(AddMul(), inputs)).to_executorch()
    generate_memory_trace(
        executorch_program_manager=prog,
        chrome_trace_filename=str(tmp_path / "memory_profile.json"),
        enable_memory_offsets=True,
    )
    events = json.loads((tmp_path / "memory_profile.json").read_text())["traceEvents"]
    plan = prog.memory_plans["forward"]
    assert {(event["name"], event["ts"], event["dur"], event["pid"]) for event in events} == {
        (tensor.name, tensor.offset, tensor.size, tensor.mem_id) for tensor in plan.tensors
    }
    assert len(events) == sum(tensor.last - tensor.first + 1 for tensor in plan.tensors)
    with pytest.raises(KeyError, match="forward"):
        generate_memory_trace(prog, str(tmp_path / "other.json"), method_name="backward")


def test_delegated_operators_are_shown_as_in_the_guide() -> None:
    from tabulate import tabulate

    from executorch.devtools.backend_debug import get_delegation_info
    from executorch.exir.backend.test.op_partitioner_demo import AddMulPartitionerDemo
    from executorch.exir.backend.utils import format_delegated_graph

    class AddDivide(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return ((x + y) * y / y) * y + y

    edge = to_edge(export(AddDivide(), (torch.ones(1, 3), torch.ones(1, 3)))).to_backend(AddMulPartitionerDemo())
    graph_module = edge.exported_program().graph_module
    info = get_delegation_info(graph_module)
    assert info.get_summary().splitlines() == [
        "Total delegated subgraphs: 2",
        "Number of delegated nodes: 2",
        "Number of non-delegated nodes: 3",
    ]
    table = tabulate(info.get_operator_delegation_dataframe(), headers="keys", tablefmt="plain").splitlines()
    assert [row.split()[-3:] for row in table[1:]] == [
        ["aten_add_tensor", "2", "0"],
        ["aten_div_tensor", "0", "1"],
        ["aten_mul_tensor", "0", "2"],
        ["Total", "2", "3"],
    ]
    shown = format_delegated_graph(graph_module)
    assert shown.count("backend_id: BackendWithCompilerDemo") == 2 and "      %aten_add_tensor " in shown
