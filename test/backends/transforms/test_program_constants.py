# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Constants that passes add to programs and delete, biases that they quantize, and dialects that they lower to."""

from typing import Any

import pytest
import torch
from oracle.tolerances import FOLDED_BIAS
from torch.export import ExportedProgram, export
from torch.export.graph_signature import InputKind

from executorch.backends.transforms.aten_to_dialect_pass import AtenToDialectPass, DialectNodeSpec
from executorch.backends.transforms.quantize_fused_convbn_bias_pass import QuantizeFusedConvBnBiasAtenPass
from executorch.backends.transforms.utils import (
    create_constant_placeholder,
    create_mutable_buffer,
    delete_constant_placeholder,
    get_param_tensor,
    is_param_node,
)
from executorch.backends.xnnpack.lowering.facts import constant_tensor
from executorch.exir import EdgeCompileConfig, to_edge
from executorch.exir.dialects._ops import ops
from executorch.exir.pass_base import ExportPass, PassResult
from executorch.runtime import Runtime

_aten: Any = ops.edge.aten


def _program() -> ExportedProgram:
    return to_edge(export(torch.nn.ReLU(), (torch.zeros(2),))).exported_program()


def test_a_constant_is_added_and_deleted() -> None:
    program = _program()
    first = next(iter(program.graph.nodes))
    with program.graph.inserting_before(first):
        node = create_constant_placeholder(program, program.graph, "extra", InputKind.PARAMETER, torch.ones(2))
    found = get_param_tensor(program, node)
    assert found is not None and found.tolist() == [1, 1]
    assert program.graph_signature.inputs_to_parameters == {"extra": "extra"}
    delete_constant_placeholder(program, node)
    assert not program.state_dict and len(program.graph_signature.input_specs) == 1


def test_constants_are_found_after_others_were_added_and_deleted() -> None:
    program = _program()

    def add(name: str, value: float) -> torch.fx.Node:
        with program.graph.inserting_before(next(iter(program.graph.nodes))):
            data = torch.full((2,), value)
            return create_constant_placeholder(program, program.graph, name, InputKind.CONSTANT_TENSOR, data)

    nodes = [add(f"c{value}", value) for value in range(3)]
    assert all(constant_tensor(program, node) is not None for node in nodes)
    delete_constant_placeholder(program, nodes.pop(2))  # the first of the signature
    user_input = next(node for node in program.graph.nodes if node.op == "placeholder" and node not in nodes)
    assert not is_param_node(program, user_input) and constant_tensor(program, user_input) is None
    nodes.append(add("c2", 5))
    for node, value in zip(nodes, (0, 1, 5), strict=True):
        for found in (constant_tensor(program, node), get_param_tensor(program, node)):
            assert found is not None and found.tolist() == [value] * 2


def test_constants_after_the_inputs_and_deleting_read_constants_are_refused() -> None:
    program = _program()
    first = next(iter(program.graph.nodes))
    refused = pytest.raises(RuntimeError, match="before the user's inputs")
    with program.graph.inserting_after(first), refused:
        create_constant_placeholder(program, program.graph, "late", InputKind.PARAMETER, torch.ones(2))
    with pytest.raises(RuntimeError, match="cannot delete"):
        delete_constant_placeholder(program, first)


class _AccumulatePass(ExportPass):
    """Accumulates the ReLU's result in a new buffer, and returns the buffer."""

    def __init__(self, program: ExportedProgram) -> None:
        super().__init__()
        self.program = program

    def call(self, graph_module: torch.fx.GraphModule) -> PassResult:
        graph = graph_module.graph
        buffer = create_mutable_buffer(self.program, "b_total", torch.zeros(2))
        output = graph.output_node()
        with graph.inserting_before(output):
            total = graph.call_function(_aten.add.Tensor, (buffer, output.args[0][1]))
        output.args = ([total, total],)
        signature = self.program.graph_signature
        for spec in signature.output_specs:
            spec.arg = type(spec.arg)(name=total.name)
        return super().call(graph_module)


class _StorePass(_AccumulatePass):
    """Writes the ReLU's result into a new buffer with an in-place operator. The new node lacks `val`."""

    def call(self, graph_module: torch.fx.GraphModule) -> PassResult:
        graph = graph_module.graph
        buffer = create_mutable_buffer(self.program, "b_last", torch.zeros(2))
        output = graph.output_node()
        with graph.inserting_before(output):
            stored = graph.call_function(_aten.copy_.default, (buffer, output.args[0][1]))
        output.args = ([buffer, stored],)
        self.program.graph_signature.output_specs[1].arg.name = stored.name
        return ExportPass.call(self, graph_module)


def test_a_program_with_a_buffer_from_a_pass_is_lowered() -> None:
    edge = to_edge(
        export(torch.nn.ReLU(), (torch.zeros(2),)), compile_config=EdgeCompileConfig(_check_ir_validity=False)
    )
    edge.transform([_StorePass(edge.exported_program())])
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    assert method is not None
    assert [method.execute([torch.tensor([n, -1.0])])[0].tolist() for n in (1.0, 2.0)] == [[1, 0], [2, 0]]


def test_a_pass_may_add_a_buffer_to_the_program_that_it_was_made_for() -> None:
    edge = to_edge(export(torch.nn.ReLU(), (torch.zeros(2),)))
    counted = edge.transform([_AccumulatePass(edge.exported_program())])
    assert counted.exported_program().graph_signature.buffers_to_mutate
    method = Runtime.get().load_program(counted.to_executorch().buffer).load_method("forward")
    assert method is not None
    totals = [method.execute([torch.tensor([1.0, -1.0])])[0].tolist() for _ in range(2)]
    assert totals == [[1, 0], [2, 0]]


class _ToMinimum(AtenToDialectPass):
    """A dialect that has no ReLU."""


@_ToMinimum.register_dialect_substitution(_aten.relu.default)
def _to_clamp(node: torch.fx.Node, _: AtenToDialectPass) -> DialectNodeSpec:
    return DialectNodeSpec(_aten.clamp.default, (node.args[0], 0.0))


def test_operators_are_replaced_by_those_of_a_dialect_once_registered() -> None:
    program = _program()
    result = _ToMinimum(program)(program.graph_module)
    assert result is not None and result.modified
    assert result.graph_module(torch.tensor([-1.0, 2.0]))[0].tolist() == [0, 2]
    with pytest.raises(RuntimeError, match="Multiple substitutions"):
        _ToMinimum.register_dialect_substitution(_aten.relu.default)(_to_clamp)


@pytest.mark.parametrize("lifted", [True, False], ids=["lifted", "attributes"])
def test_the_bias_of_a_quantized_convolution_is_quantized(lifted: bool) -> None:
    quantize: Any = torch.ops.quantized_decomposed

    class Quantized(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randint(-100, 100, (4, 3, 3, 3), dtype=torch.int8), False)
            self.bias = torch.nn.Parameter(torch.randn(4))
            self.register_buffer("scales", torch.rand(4) + 0.1)
            self.register_buffer("zeros", torch.zeros(4, dtype=torch.int64))

        def forward(self, image: torch.Tensor) -> torch.Tensor:
            dequantized = quantize.dequantize_per_tensor(image, 0.01, 2, -128, 127, torch.int8)
            weight = quantize.dequantize_per_channel(self.weight, self.scales, self.zeros, 0, -127, 127, torch.int8)
            return torch.nn.functional.conv2d(dequantized, weight, self.bias)

    model, image = Quantized(), torch.randint(-100, 100, (1, 3, 6, 6), dtype=torch.int8)
    program = export(model, (image,))
    graph_module: Any = program.graph_module if lifted else program.module()
    result = QuantizeFusedConvBnBiasAtenPass(program if lifted else None)(graph_module)
    assert result is not None and result.modified
    names = [str(node.target) for node in graph_module.graph.nodes]
    assert names.count("quantized_decomposed.dequantize_per_channel.default") == 2
    run = program.module() if lifted else graph_module
    torch.testing.assert_close(run(image), model(image), **FOLDED_BIAS)
