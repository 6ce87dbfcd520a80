# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""From edge to a finished program: the manager's methods, and its errors."""

import io

import pytest
import torch
from oracle.models.planned_graph import run_planned
from torch import nn
from torch.export import export

from executorch.exir import ExecutorchBackendConfig, ExecutorchProgramManager, to_edge
from executorch.exir.error import ExportError
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.program.target import installed_kernels, operators_to_link

NO_TARGET = ExecutorchBackendConfig(check_target=False)
X = torch.randn(2, 4)


def _edge(model=None, *inputs):
    return to_edge(export(model or nn.Linear(4, 3), inputs or (X,)))


def test_a_program_can_be_looked_at_and_written(tmp_path):
    program = _edge().to_executorch()
    assert isinstance(program, ExecutorchProgramManager)
    assert program.methods == {"forward"} and program.config_methods == set()
    stream = io.BytesIO()
    program.write_to_file(stream)
    program.save(str(tmp_path / "a.pte"))
    assert program.buffer == stream.getvalue() == (tmp_path / "a.pte").read_bytes()
    assert program.buffer[4:8] == b"ET12"
    assert program.executorch_program.execution_plan[0].name == "forward"
    assert program.debug_handle_map["forward"] and program.delegate_map == {"forward": {}}
    program.write_tensor_data_to_file(str(tmp_path))
    with pytest.raises(ValueError, match=r"\.pte"):
        program.save(str(tmp_path / "a.bin"))
    with pytest.raises(KeyError, match="forward"):
        program.exported_program("missing")


def test_the_program_reads_as_text():
    out = io.StringIO()
    _edge().to_executorch().dump_executorch_program(verbose=True, out=out)
    assert "method forward" in out.getvalue() and "aten::addmm.out" in out.getvalue()


def test_the_edge_program_is_left_as_it_was():
    edge = _edge()
    before = edge.exported_program().graph_module.code
    first, second = edge.to_executorch().buffer, edge.to_executorch().buffer
    assert edge.exported_program().graph_module.code == before and first == second


def test_constant_methods_are_in_the_program():
    edge = to_edge(export(nn.Linear(4, 3), (X,)), constant_methods={"size": 4, "name": "linear"})
    plans = {plan.name for plan in edge.to_executorch().executorch_program.execution_plan}
    assert plans == {"forward", "size", "name"}


def test_control_flow_is_planned_and_gives_eagers_results():
    from torch._higher_order_ops.map import map as torch_map

    class Branch(nn.Module):
        def forward(self, p, x):
            return torch.cond(p, lambda x: (x + 1).view(-1), lambda x: torch.sin(x).view(-1) * 2, (x,))

    for p in (torch.tensor(True), torch.tensor(False)):
        program = _edge(Branch(), p, X).to_executorch(NO_TARGET).exported_program()
        torch.testing.assert_close(run_planned(program, p, X)[0], Branch()(p, X))

    class Map(nn.Module):
        def forward(self, xs, y):
            return torch_map(lambda x, y: x * 2 + y, xs, y)

    (plan,) = _edge(Map(), X, X[0].clone()).to_executorch(NO_TARGET).executorch_program.execution_plan
    assert "executorch_prim::et_copy_index" in {op.name for op in plan.operators}


def test_users_passes_run_first():
    seen = []

    def look(graph_module):
        seen.append([str(node.target) for node in graph_module.graph.nodes if node.op == "call_function"])

    _edge().to_executorch(ExecutorchBackendConfig(passes=[look]))
    assert seen == [["aten.permute_copy.default", "aten.addmm.default"]]


def test_an_operator_without_a_kernel_is_refused_with_node_module_and_line():
    edge = _edge()
    config = ExecutorchBackendConfig(target_manifest=["aten::mm.out"])
    with pytest.raises(ExportError, match=r"check target.*aten_addmm_default.*Linear.*no kernel for aten::addmm.out"):
        edge.to_executorch(config)
    config.check_target = False
    assert edge.to_executorch(config).buffer
    assert "aten::addmm.out" in installed_kernels()


def test_users_own_operators_bring_their_kernels():
    with torch.library._scoped_library("p1_custom", "DEF") as library:
        library.define("mul3(Tensor x) -> Tensor")
        library.define("mul3.out(Tensor x, *, Tensor(a!) output) -> Tensor(a!)")
        library.impl("mul3", lambda x: x * 3, "CompositeExplicitAutograd")
        library.impl("mul3.out", lambda x, *, output: torch.mul(x, 3, out=output), "CompositeExplicitAutograd")
        torch.library.register_fake("p1_custom::mul3", torch.empty_like, lib=library)

        class Custom(nn.Module):
            def forward(self, x):
                return torch.ops.p1_custom.mul3(x)

        program = _edge(Custom(), X).to_executorch()
        (op,) = program.executorch_program.execution_plan[0].operators
        assert (op.name, op.overload) == ("p1_custom::mul3", "out")
        graph_module = program.exported_program().graph_module
        assert operators_to_link(graph_module, installed_kernels()) == ["p1_custom::mul3.out"]


def test_an_unsupported_field_is_an_error():
    with pytest.raises(ExportError, match="propagate_device_config"):
        ExecutorchBackendConfig(propagate_device_config=True)


def test_passes_can_be_chosen_by_method():
    planner = MemoryPlanningPass(alloc_graph_input=False)
    config = ExecutorchBackendConfig(memory_planning_pass={"forward": planner})
    plan = _edge().to_executorch(config).executorch_program.execution_plan[0]
    assert plan.values[plan.inputs[0]].val.allocation_info is None
    with pytest.raises(ExportError, match="forward"):
        _edge().to_executorch(ExecutorchBackendConfig(memory_planning_pass={"other": planner}))


def test_importing_without_torch_names_the_extra():
    import subprocess
    import sys

    code = (
        "import sys; sys.modules['torch'] = None\n"
        "try:\n    import executorch.exir\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "executorch[export]"' in done.stdout
