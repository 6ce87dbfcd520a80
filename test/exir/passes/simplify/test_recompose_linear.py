# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Products of one row with transposed matrices become `linear`, and other products stay."""

from typing import Any

import pytest
import torch
from models.function_module import Function
from models.module_kinds import kind_of
from oracle.models.every_step import assert_step_saves
from oracle.tolerances import LAYER, two_roundings
from torch.export import export

from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.runtime import Runtime

Inputs = tuple[torch.Tensor, ...]


def _floats(*sizes: int) -> torch.Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(sum(sizes)))


RECOMPOSED: dict[str, tuple[torch.nn.Module, Inputs]] = {
    "a layer": (torch.nn.Linear(37, 50), (_floats(1, 37),)),
    "a layer without bias": (torch.nn.Linear(37, 50, bias=False), (_floats(1, 37),)),
    "one position of a sequence": (torch.nn.Linear(16, 5), (_floats(1, 1, 16),)),
    "in float16": (torch.nn.Linear(16, 5).half(), (_floats(1, 16).half(),)),
    "a variable matrix": (Function(lambda x, w: x @ w.T), (_floats(1, 7), _floats(9, 7))),
    "no columns": (Function(lambda x, w: x @ w.T), (_floats(1, 7), _floats(0, 7))),
    "no depth": (Function(lambda x, w: x @ w.T), (_floats(1, 0), _floats(4, 0))),
}
OTHERS: dict[str, tuple[torch.nn.Module, Inputs]] = {
    "two rows": (torch.nn.Linear(16, 5), (_floats(2, 16),)),
    "a matrix as it is": (Function(lambda x, w: x @ w), (_floats(1, 7), _floats(7, 9))),
    "a scaled bias": (
        Function(lambda b, x, w: torch.addmm(b, x, w.T, beta=2)),
        (_floats(9), _floats(1, 7), _floats(9, 7)),
    ),
    "one bias for all": (Function(lambda b, x, w: torch.addmm(b, x, w.T)), (_floats(1), _floats(1, 7), _floats(9, 7))),
    "integers": (Function(lambda x, w: x @ w.T), (torch.arange(7)[None], torch.arange(63).view(9, 7))),
}


def _lower(model: torch.nn.Module, inputs: Inputs) -> Any:
    config = ExecutorchBackendConfig(tune_for_optimized_kernels=True)
    return to_edge(export(model.eval(), inputs)).to_executorch(config)


def _operators(manager: Any) -> list[str]:
    nodes = manager.exported_program().graph.nodes
    return [node.target.__name__ for node in nodes if isinstance(node.target, torch._ops.OpOverload)]


def _assert_equal(manager: Any, model: torch.nn.Module, inputs: Inputs) -> None:
    (output,) = Runtime.get().load_program(manager.buffer).load_method("forward").execute(list(inputs))
    dtype = inputs[-1].dtype
    tolerance = two_roundings(dtype) if dtype == torch.float16 else LAYER
    torch.testing.assert_close(output, model(*inputs), **tolerance)


@pytest.mark.parametrize("what", RECOMPOSED)
def test_a_product_of_one_row_with_a_transposed_matrix_is_linear(what: str) -> None:
    model, inputs = RECOMPOSED[what]
    manager = _lower(model, inputs)
    operators = _operators(manager)
    assert "linear.out" in operators and not {"mm.out", "addmm.out", "permute_copy.out"} & set(operators)
    _assert_equal(manager, model, inputs)


@pytest.mark.parametrize("what", OTHERS)
def test_other_products_stay(what: str) -> None:
    model, inputs = OTHERS[what]
    manager = _lower(model, inputs)
    assert "linear.out" not in _operators(manager)
    _assert_equal(manager, model, inputs)


def test_a_number_of_rows_that_varies_is_not_taken_for_one() -> None:
    model, inputs = torch.nn.Linear(16, 5), (_floats(3, 16),)
    exported = export(model, inputs, dynamic_shapes={"input": {0: torch.export.Dim("rows", min=1, max=8)}})
    manager = to_edge(exported).to_executorch(ExecutorchBackendConfig(tune_for_optimized_kernels=True))
    assert "linear.out" not in _operators(manager)
    _assert_equal(manager, model, (_floats(1, 16),))


def test_a_variable_matrix_saves_its_transpose() -> None:
    assert_step_saves("recompose_linear", kind_of(lambda x, w: x @ w.T, (_floats(1, 3), _floats(4, 3))))
