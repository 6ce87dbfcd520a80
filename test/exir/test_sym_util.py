# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`executorch.exir.sym_util`: values and bounds of symbolic sizes; and the names of `executorch.exir`."""

import pytest
import torch
from torch import nn
from torch.export import Dim, export

import executorch.exir
from executorch.exir import sym_util


def _sizes(dim: Dim) -> list[torch.SymInt]:
    exported = export(nn.ReLU(), (torch.randn(3, 2),), dynamic_shapes=({0: dim},))
    (node,) = exported.graph.find_nodes(op="placeholder")
    return list(node.meta["val"].shape)


def test_a_size_that_varies_has_its_example_and_its_upper_bound() -> None:
    sizes = _sizes(Dim("n", max=8))
    assert sym_util.eval_shape(sizes) == [3, 2]
    assert sym_util.eval_shape_upper_bound(sizes) == [8, 2]
    assert len(sym_util.collect_free_symbols(sizes)) == 1


def test_a_range_follows_the_ranges_of_its_symbols() -> None:
    size = _sizes(Dim("n", min=3, max=8))[0]
    twice = size * 2 + 1
    assert (sym_util.value_range(twice).lower, sym_util.value_range(twice).upper) == (7, 17)
    size.node.shape_env.constrain_symbol_range(size.node.expr, compiler_min=3, compiler_max=6)
    assert (sym_util.value_range(twice).lower, sym_util.value_range(twice).upper) == (7, 13)


def test_a_size_without_a_bound_is_that_of_the_example() -> None:
    assert sym_util.eval_shape_upper_bound(_sizes(Dim("n"))) == [3, 2]


def test_a_size_that_running_computes_has_no_value_and_no_bound() -> None:
    class Indices(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.nonzero()

    exported = export(Indices(), (torch.randn(3),))
    (node,) = exported.graph.find_nodes(op="call_function", target=torch.ops.aten.nonzero.default)
    assert sym_util.eval_expr(node.meta["val"].shape[0]) is None


@pytest.mark.parametrize("name", ["EmitterOutput", "ExportGraphSignature", "Value", "emit_program"])
def test_exir_has_the_documented_name(name: str) -> None:
    assert name in executorch.exir.__all__
    assert hasattr(executorch.exir, name)
