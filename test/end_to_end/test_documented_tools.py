# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Documented tools around the compiler: quantized inputs and outputs, initial state, constants, one-call exports."""

import io
from pathlib import Path

import pytest
import torch
from torch.export import export

from executorch.exir import EdgeCompileConfig, EdgeProgramManager, ExecutorchBackendConfig, to_edge
from executorch.exir._serialize import _deserialize_pte_binary, _PTEFile, _serialize_pte_binary
from executorch.exir._serialize._program import PTEFile, deserialize_pte_binary, serialize_pte_binary
from executorch.exir.backend.canonical_partitioners.duplicate_constant_node_pass import duplicate_constant_node
from executorch.exir.backend.canonical_partitioners.duplicate_dequant_node_pass import DuplicateDequantNodePass
from executorch.exir.backend.test.op_partitioner_demo import AddMulPartitionerDemo
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.error import ExportError
from executorch.exir.lowered_backend_module import get_lowered_backend_modules
from executorch.exir.memory_planning import MemoryAlgoResult, SpecAllocResult, update_all_tensors_lifetime
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.constant_prop_pass import constant_prop_pass
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from executorch.exir.passes.quantize_io_pass import (
    QuantizeInputs,
    QuantizeOutputs,
    extract_io_quant_params,
    quantize_input,
    quantize_output,
)
from executorch.exir.print_program import add_cursor_to_graph, inspect_node, pretty_print, pretty_print_stacktraces
from executorch.exir.scalar_type import ScalarType
from executorch.exir.schema import Tensor
from executorch.extension.export_util.utils import export_to_exec_prog, save_pte_program
from executorch.extension.pybindings.portable_lib import _load_for_executorch, _load_for_executorch_from_buffer
from executorch.extension.pytree import tree_flatten, tree_map, tree_unflatten, treespec_dumps, treespec_loads

X = torch.tensor([[0.5, -1.0, 2.0], [0.1, 0.2, -0.3]])
Q = exir_ops.edge.quantized_decomposed
INT8 = (-128, 127, torch.int8)


class Quantized(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        q = torch.ops.quantized_decomposed
        x = q.dequantize_per_tensor(q.quantize_per_tensor(x, 0.1, 3, *INT8), 0.1, 3, *INT8)
        z = x + y
        return q.dequantize_per_tensor(q.quantize_per_tensor(z, 0.2, 1, *INT8), 0.2, 1, *INT8)


def quantized() -> EdgeProgramManager:
    assert Q.quantize_per_tensor  # the first access defines the operators
    return to_edge(export(Quantized(), (X, X * 2)), compile_config=EdgeCompileConfig(_check_ir_validity=False))


def test_quantized_inputs_and_outputs_move_to_the_caller() -> None:
    edge = quantized()
    changed = edge.transform([QuantizeInputs(edge, [0])])
    changed = changed.transform([QuantizeOutputs(changed, [0], method_name="forward")])
    assert {"input0_scale", "input0_zp", "input0_quant_min", "forward_output0_dtype"} <= changed.config_methods
    integers = torch.ops.quantized_decomposed.quantize_per_tensor(X, 0.1, 3, *INT8)
    expected = torch.ops.quantized_decomposed.quantize_per_tensor(Quantized()(X, X), 0.2, 1, *INT8)
    assert torch.equal(changed.exported_program().module()(integers, X), expected)
    assert not [n for n in changed.exported_program().graph.nodes if n.target == Q.dequantize_per_tensor.default][1:]


def test_the_manager_of_the_passes_changes_too_as_documented_scripts_expect() -> None:
    edge = quantized()
    edge.transform(passes=[QuantizeInputs(edge, [0]), QuantizeOutputs(edge, [0])])
    meta = edge.to_executorch(ExecutorchBackendConfig(extract_delegate_segments=False)).executorch_program
    values = {plan.name: plan.values[plan.outputs[0]].val for plan in meta.execution_plan}
    assert values["forward"].scalar_type is ScalarType.CHAR and values["input0_zp"].int_val == 3
    edge = quantized()
    assert quantize_input(edge.exported_program(), 0) == (0.1, 3, *INT8)
    scale, _, _, _, dtype = quantize_output(edge.exported_program(), 0)
    assert (scale, dtype) == (0.2, torch.int8)


def test_the_constant_methods_of_parameters_can_be_added_alone() -> None:
    edge = quantized()
    inputs, outputs = QuantizeInputs(edge, []), QuantizeOutputs(edge, [], method_name="run")
    inputs.edge_manager_update_quant_config_method(1, (0.5, 2, *INT8))
    outputs.dequant_args[0] = quantize_output(edge.exported_program(), 0)
    outputs.edge_manager_update_quant_config_methods_all()
    assert edge.config_methods >= {"input1_scale", "input1_dtype", "run_output0_zp"}


def test_parameters_of_inputs_and_outputs_are_extracted() -> None:
    edge = quantized()
    found = extract_io_quant_params(edge, input_idxs=[0, 1])
    expected = {"scale": 0.1, "zero_point": 3, "quant_min": -128, "quant_max": 127, "dtype": ScalarType.CHAR}
    assert found["inputs"] == {"x": expected}  # nothing quantizes the other
    assert [parameters["scale"] for parameters in found["outputs"].values()] == [0.2]
    assert "output0_scale" in edge.config_methods
    integers = torch.zeros(2, 3, dtype=torch.int8)
    assert edge.exported_program().module()(integers, X).dtype is torch.int8


def test_an_input_that_nothing_quantizes_is_dequantized_with_the_callers_parameters() -> None:
    edge = quantized()
    changed = edge.transform([QuantizeInputs(edge, {1: {"scale": 0.5, "zp": 2, "dtype": torch.int8}})])
    integers = torch.tensor([[3, 4, 5], [1, 2, 0]], dtype=torch.int8)
    real = (integers.float() - 2) * 0.5
    assert torch.equal(changed.exported_program().module()(X, integers), Quantized()(X, real))
    assert changed.exported_program().graph_signature.user_inputs == ("x", "y")


def test_only_an_input_with_other_quantization_parameters_is_requantized() -> None:
    program = quantized().exported_program()
    quantize_input(program, 0, {"scale": 0.05, "zp": 130, "dtype": torch.uint8})
    integers = torch.randint(0, 256, (2, 3), dtype=torch.uint8)
    assert torch.equal(program.module()(integers, X), Quantized()((integers.float() - 130) * 0.05, X))
    program = quantized().exported_program()
    before = len(program.graph.nodes)
    quantize_input(program, 0, {"scale": 0.1, "zp": 3, "dtype": torch.int8})
    assert len(program.graph.nodes) == before - 1
    with pytest.raises(ExportError, match="missing: zp, dtype"):
        quantize_input(quantized().exported_program(), 1, {"scale": 0.1})


@pytest.mark.parametrize(("index", "why"), [([1], "only reader of the input"), ([7], "has 2 inputs")])
def test_inputs_that_cannot_be_quantized_are_named(index: list[int], why: str) -> None:
    edge = quantized()
    with pytest.raises(ExportError, match=why):
        edge.transform([QuantizeInputs(edge, index)])


class State(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache_pos", torch.zeros(2))
        self.register_buffer("other", torch.zeros(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.cache_pos.add_(x) + self.other.add_(x)


def test_chosen_buffers_are_stored_with_their_initial_values() -> None:
    def stored(passes: list[object]) -> int:
        program = to_edge(export(State(), (X[0, :2],))).to_executorch(ExecutorchBackendConfig(passes=passes))
        values = [value.val for value in program.executorch_program.execution_plan[0].values]
        assert _load_for_executorch_from_buffer(program.buffer).forward((X[0, :2],))[0].tolist() == [1.0, -2.0]
        return sum(isinstance(value, Tensor) and value.data_buffer_idx > 0 for value in values)

    assert stored([InitializedMutableBufferPass(["cache_pos"])]) == stored([]) + 1


class Constants(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w, self.b = torch.nn.Parameter(torch.randn(3, 3)), torch.nn.Parameter(torch.randn(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ (self.w.t() * 2) + self.b.exp()


def test_calls_on_constants_are_computed_ahead_of_time() -> None:
    model = Constants()
    program = to_edge(export(model, (X,))).exported_program()
    kept = constant_prop_pass(to_edge(export(model, (X,))).exported_program(), {exir_ops.edge.aten.exp.default})
    assert constant_prop_pass(program) is program

    def calls(program: torch.export.ExportedProgram) -> list[str]:
        return [str(node.target) for node in program.graph.nodes if node.op == "call_function"]

    assert calls(program) == ["aten.mm.default", "aten.add.Tensor"]
    assert calls(kept) == ["aten.mm.default", "aten.exp.default", "aten.add.Tensor"]
    torch.testing.assert_close(program.module()(X), model(X))


class Shared(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x + self.w).sin() * self.w


def test_a_shared_constant_has_a_node_for_each_reader_and_lowers() -> None:
    model, edge = Shared(), to_edge(export(Shared(), (X,)))
    model.load_state_dict(edge.exported_program().state_dict)
    assert duplicate_constant_node(edge.exported_program(), "p_w") == {"p_w_copy_0"}
    torch.testing.assert_close(edge.exported_program().module()(X), model(X))
    lowered = edge.to_backend(AddMulPartitionerDemo())
    assert len(list(get_lowered_backend_modules(lowered.exported_program().graph_module))) == 1
    torch.testing.assert_close(lowered.exported_program().module()(X), model(X))
    with pytest.raises(ValueError, match="'x' is not a constant"):
        duplicate_constant_node(edge.exported_program(), "x")


def test_every_reader_has_its_own_dequantize() -> None:
    class TwoReaders(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = torch.ops.quantized_decomposed.dequantize_per_tensor(x, 0.1, 3, *INT8)
            return x.sin() + x.cos()

    integers = torch.tensor([1, -5, 7], dtype=torch.int8)
    config = EdgeCompileConfig(_check_ir_validity=False)
    edge = to_edge(export(TwoReaders(), (integers,)), compile_config=config).transform([DuplicateDequantNodePass()])
    nodes = edge.exported_program().graph.find_nodes(op="call_function", target=Q.dequantize_per_tensor.default)
    assert [len(node.users) for node in nodes] == [1, 1]
    torch.testing.assert_close(edge.exported_program().module()(integers), TwoReaders()(integers))


def test_a_node_is_shown_in_its_graph_with_its_source() -> None:
    program = to_edge(export(Shared(), (X,))).exported_program()
    (node,) = program.graph.find_nodes(op="call_function", target=exir_ops.edge.aten.sin.default)
    assert [line for line in add_cursor_to_graph(program.graph, node).splitlines() if line.startswith("--> ")] == [
        f"--> {node.format_node()}"
    ]
    text = inspect_node(program.graph, node)
    assert text.startswith("Here is the node in the graph module:\ngraph():\n")
    assert "Traceback (most recent call last):\n" in text
    assert "(x + self.w).sin()" in text
    out = io.StringIO()
    program = to_edge(export(Shared(), (X,))).to_executorch().executorch_program
    pretty_print(program.execution_plan[0].operators, out=out)
    assert out.getvalue().startswith("[\n  Operator(\n    name='aten::add',\n    overload='out',\n  ),\n")


def test_the_stack_trace_of_an_instruction_is_printed() -> None:
    program = to_edge(export(Shared(), (X,))).to_executorch(ExecutorchBackendConfig(emit_stacktrace=True))
    (chain,) = program.executorch_program.execution_plan[0].chains
    frame = chain.stacktrace[0].items[-1]
    text = pretty_print_stacktraces(chain.stacktrace[0])
    assert text.startswith("Traceback (most recent call last): \n    File ")
    last = f'    File "{frame.filename}", line {frame.lineno}, in forward\n{frame.context} \n\n'
    assert text.endswith(last) and "self.w" in frame.context


def test_a_program_is_read_and_written_as_values() -> None:
    buffer = to_edge(export(State(), (X[0, :2],))).to_executorch().buffer
    file = deserialize_pte_binary(buffer)
    assert isinstance(file, PTEFile) and file.program.execution_plan[0].name == "forward"
    assert file.program.named_data == []
    again = deserialize_pte_binary(bytes(serialize_pte_binary(file, extract_delegate_segments=True)))
    assert again.program.execution_plan == file.program.execution_plan
    assert (_PTEFile, _deserialize_pte_binary, _serialize_pte_binary) == (
        PTEFile,
        deserialize_pte_binary,
        serialize_pte_binary,
    )


def test_a_model_is_exported_and_saved_in_two_calls(tmp_path: Path) -> None:
    model = Constants()
    program = export_to_exec_prog(model, (X,), dynamic_shapes={"x": {0: torch.export.Dim("n", max=4)}})
    path = save_pte_program(program, "model", str(tmp_path))
    assert path == str(tmp_path / "model.pte")
    torch.testing.assert_close(_load_for_executorch(path).forward((X[:1],))[0], model(X[:1]))


def test_nested_containers_are_flattened_and_their_form_is_text() -> None:
    leaves, spec = tree_flatten((1, [2, {"a": 3}]))
    assert leaves == [1, 2, 3]
    assert tree_unflatten(leaves, treespec_loads(treespec_dumps(spec))) == (1, [2, {"a": 3}])
    assert tree_map(lambda leaf: leaf * 2, [1, (2,)]) == [2, (4,)]


def test_a_users_planner_reads_the_lifetimes_that_it_requested() -> None:
    seen: list[list[int]] = []

    def one_after_the_other(alignment, specs, graph_module, graph_signature, extra_padding=0):
        known = update_all_tensors_lifetime(graph_module, graph_signature)
        places, end = {}, 0
        for spec in specs:
            assert spec in known
            seen.append(list(spec.lifetime))
            places[spec] = SpecAllocResult(1, 0, end)
            end += -(-spec.nbytes() // alignment) * alignment
        return MemoryAlgoResult(places, [0, end])

    config = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(one_after_the_other))
    program = to_edge(export(Constants(), (X,))).to_executorch(config)
    assert seen and all(first <= last for first, last in seen)
    assert _load_for_executorch_from_buffer(program.buffer).forward((X,))[0].shape == (2, 3)
