# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The ways to call `EdgeProgramManager.to_backend`."""

import warnings

import pytest
import torch
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import LAYER
from torch.export import ExportedProgram, export

from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
    XnnpackDynamicallyQuantizedPartitioner,
    XnnpackFloatingPointPartitioner,
    XnnpackPartitioner,
)
from executorch.exir import EdgeCompileConfig, EdgeProgramManager, to_edge, to_edge_transform_and_lower
from executorch.exir.backend.utils import get_delegates
from executorch.exir.passes import RemoveNoopPass
from executorch.runtime import Runtime

MODEL = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)).eval()
DATA = torch.randn(3, 4)


def _exported() -> ExportedProgram:
    return export(MODEL, (DATA,))


def _delegates(edge: EdgeProgramManager, method: str = "forward") -> int:
    """Return the number of delegates of a method whose results equal eager's."""
    loaded = Runtime.get().load_program(edge.to_executorch().buffer).load_method(method)
    assert loaded is not None
    torch.testing.assert_close(loaded.execute([DATA])[0], MODEL(DATA), **LAYER)
    return len(get_delegates(edge.exported_program(method).graph))


@needs_xnnpack
def test_a_dict_names_the_methods_that_are_delegated() -> None:
    edge = to_edge({"a": _exported(), "b": _exported()}).to_backend({"a": XnnpackPartitioner()})
    assert (_delegates(edge, "a"), _delegates(edge, "b")) == (1, 0)


@needs_xnnpack
def test_one_partitioner_is_for_all_methods() -> None:
    edge = to_edge({"a": _exported(), "b": _exported()}).to_backend(XnnpackPartitioner())
    assert (_delegates(edge, "a"), _delegates(edge, "b")) == (1, 1)


@needs_xnnpack
def test_a_second_partitioner_takes_what_the_first_left() -> None:
    edge = to_edge(_exported()).to_backend(XnnpackDynamicallyQuantizedPartitioner())
    assert _delegates(edge) == 0
    assert _delegates(edge.to_backend(XnnpackFloatingPointPartitioner())) == 1
    both = [XnnpackDynamicallyQuantizedPartitioner(), XnnpackFloatingPointPartitioner()]
    assert _delegates(to_edge_transform_and_lower(_exported(), partitioner=both)) == 1


@needs_xnnpack
def test_a_transformed_program_is_delegated_without_warnings() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        edge = to_edge(_exported()).transform([RemoveNoopPass()]).to_backend(XnnpackPartitioner())
    assert _delegates(edge) == 1


@needs_xnnpack
@pytest.mark.parametrize("skip_dim_order", [False, True])
def test_an_unchecked_program_is_delegated(skip_dim_order: bool) -> None:
    config = EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=skip_dim_order)
    assert _delegates(to_edge(_exported(), compile_config=config).to_backend(XnnpackPartitioner())) == 1


@needs_xnnpack
def test_a_manager_may_be_delegated_more_than_once() -> None:
    edge = to_edge(_exported())
    assert _delegates(edge.to_backend(XnnpackPartitioner())) == 1
    assert _delegates(edge) == 0
    assert _delegates(edge.to_backend(XnnpackPartitioner())) == 1


def test_a_partitioner_for_an_unknown_method_is_refused() -> None:
    with pytest.raises(ValueError, match="partitioners for methods"):
        to_edge(_exported()).to_backend({"other": XnnpackPartitioner()})
