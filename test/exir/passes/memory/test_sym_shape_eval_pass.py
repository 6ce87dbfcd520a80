# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Upper bounds of dynamic sizes."""

import pytest
import torch
from oracle.models.planned_graph import call_targets, plan, run_planned
from torch.export import Dim, export

from executorch.exir import ExecutorchBackendConfig, memory, to_edge
from executorch.exir.error import ExportError
from executorch.exir.passes import ConstraintBasedSymShapeEvalPass, HintBasedSymShapeEvalPass
from executorch.exir.schema import TensorShapeDynamism

NO_TARGET = ExecutorchBackendConfig(check_target=False)


def test_sizes_get_their_upper_bound():
    class Double(torch.nn.Module):
        def forward(self, x):
            return torch.cat([x, x]), x.shape[0] * 2

    inputs = (torch.randn(4, 3),)
    program = plan(Double(), *inputs, dynamic_shapes=({0: Dim("n", min=2, max=10)},))
    spec = next(node for node in program.graph.nodes if node.target is memory.alloc).meta["spec"]
    assert spec.shape == [20, 3] and spec.shape_dynamism == TensorShapeDynamism.DYNAMIC_BOUND
    assert "executorch_prim.mul.Scalar" in call_targets(program)
    output = run_planned(program, torch.ones(6, 3))
    assert output[0].shape == (12, 3) and output[1] == 12


def test_an_unbounded_size_is_left_to_the_runtime_refused_or_taken_from_hints():
    class Relu(torch.nn.Module):
        def forward(self, x):
            return torch.relu(x)

    exported = export(Relu(), (torch.randn(4, 3),), dynamic_shapes=({0: Dim("n")},))
    strict = ExecutorchBackendConfig(sym_shape_eval_pass=ConstraintBasedSymShapeEvalPass(allow_unbounded=False))
    with pytest.raises(ExportError, match=r"size s.* of dimension 0 has no upper bound.*max="):
        to_edge(exported).to_executorch(strict)
    with pytest.warns(
        UserWarning, match=r"aten_relu_default \(dimension 0: s.*no upper bound.*max=.*dynamic allocator"
    ):
        program = to_edge(exported).to_executorch(NO_TARGET).exported_program()
    spec = program.graph.output_node().meta["spec"][0]
    assert spec.shape == [0, 3] and spec.shape_dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND
    assert spec.mem_id is None and str(spec.symbolic_shape[0]).startswith("s")
    config = ExecutorchBackendConfig(sym_shape_eval_pass=HintBasedSymShapeEvalPass(), check_target=False)
    program = to_edge(exported).to_executorch(config).exported_program()
    assert program.graph.output_node().meta["spec"][0].shape == [4, 3]
    assert isinstance(ConstraintBasedSymShapeEvalPass(), torch.fx.passes.infra.pass_base.PassBase)
