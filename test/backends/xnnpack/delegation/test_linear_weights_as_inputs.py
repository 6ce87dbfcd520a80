# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Weights of linear layers that stay in the program."""

import pytest
import torch
from oracle.tolerances import LAYER
from torch.export import export

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("name", ["force_non_static_weights_for_f32_linear", "force_fp32_dynamic_linear"])
def test_float_weights_are_inputs_of_the_delegate(bias: bool, name: str) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(5, 6, bias=bias), torch.nn.ReLU(), torch.nn.Linear(6, 3)).eval()
    data = torch.randn(4, 5)
    partitioner = XnnpackPartitioner(**{name: True})
    lowered = to_edge_transform_and_lower(export(model, (data,)), partitioner=[partitioner])
    program = lowered.exported_program()
    names = {str(node.target) for node in program.graph.nodes if node.op == "call_function"}
    assert names == {"executorch_call_delegate", "<built-in function getitem>"}
    assert set(program.graph_signature.parameters) == {name for name, _ in model.named_parameters()}
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    assert method is not None
    torch.testing.assert_close(method.execute([data])[0], model(data), **LAYER)


def test_weights_are_constants_of_the_delegate_by_default() -> None:
    exported = export(torch.nn.Linear(5, 6).eval(), (torch.randn(4, 5),))
    program = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).exported_program()
    assert not program.graph_signature.parameters
