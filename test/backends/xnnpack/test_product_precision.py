# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Products that round their factors, those that an error budget keeps in float32, and how they are reported."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from oracle.tolerances import BFLOAT16_PRODUCTS
from torch import nn

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.serialization.payload import deserialize_payload
from executorch.exir import ExecutorchProgramManager, to_edge, to_edge_transform_and_lower
from executorch.exir.lowered_backend_module import get_lowered_backend_modules
from executorch.runtime import Runtime


class Cancelling(nn.Module):
    """The second product subtracts large terms, so that its rounding decides the error."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = nn.Linear(16, 16), nn.Linear(32, 16), nn.Linear(16, 16)
        with torch.no_grad():
            weight = torch.randn(16, 16)
            self.second.weight.copy_(100 * torch.cat([weight, 0.99 * weight], dim=1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x).relu()
        return self.third(self.second(torch.cat([y, -y], dim=-1)))


def _lowered(model: nn.Module, x: torch.Tensor, older: bool = False, **options: Any) -> ExecutorchProgramManager:
    exported, partitioner = torch.export.export(model.eval(), (x,)), XnnpackPartitioner(**options)
    if older:
        return to_edge(exported).to_backend(partitioner).to_executorch()
    return to_edge_transform_and_lower(exported, partitioner=[partitioner]).to_executorch()


def _kept(program: ExecutorchProgramManager) -> list[bool]:
    """Return whether each product of the only delegate keeps its factors, in graph order."""
    (delegate,) = get_lowered_backend_modules(program.exported_program().graph_module)
    graph, _ = deserialize_payload(delegate.processed_bytes)
    return [node.full_precision for node in graph.xnodes if type(node.xnode_union).__name__ == "FullyConnected"]


def _of_linear(program: ExecutorchProgramManager) -> dict[str, int]:
    (delegate,) = program.verdict.methods[0].delegates
    return delegate.precisions["aten::linear"]


@pytest.fixture
def cancelling() -> tuple[Cancelling, torch.Tensor]:
    torch.manual_seed(0)
    return Cancelling(), torch.randn(8, 16)


@pytest.mark.parametrize("older", [False, True])
def test_a_budget_keeps_the_product_with_the_largest_error(
    cancelling: tuple[Cancelling, torch.Tensor], older: bool
) -> None:
    model, x = cancelling
    assert _kept(_lowered(model, x, older, compute_precision="bf16")) == [False, False, False]
    assert _kept(_lowered(model, x, older, compute_precision="bf16", max_error=0.02)) == [False, True, False]


def test_an_impossible_budget_keeps_every_product(cancelling: tuple[Cancelling, torch.Tensor]) -> None:
    assert _kept(_lowered(*cancelling, compute_precision="bf16", max_error=1e-9)) == [True, True, True]


def test_the_report_counts_calls_by_precision(cancelling: tuple[Cancelling, torch.Tensor]) -> None:
    program = _lowered(*cancelling, compute_precision="bf16", max_error=0.02)
    assert _of_linear(program) == {"bf16": 2, "fp32": 1}
    assert "bf16: 2, fp32: 1" in str(program.verdict)
    assert _of_linear(_lowered(*cancelling)) == {"fp32": 3}


def test_products_in_branches_stay_in_float32_under_a_budget() -> None:
    class Branches(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(16, 16)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.sum() > 0, lambda v: self.layer(v), lambda v: v - 1, (x,))

    model, x = Branches(), torch.randn(2, 16)
    for options, expected in (({}, "bf16"), ({"max_error": 0.5}, "fp32")):
        program = _lowered(model, x, compute_precision="bf16", **options)
        delegates = program.verdict.methods[0].delegates
        found = {name for delegate in delegates for name in delegate.precisions.get("aten::linear", {})}
        assert found == {expected}


def test_not_finite_results_do_not_count_as_errors() -> None:
    class Masked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(16, 16)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x).masked_fill(x > 0, -torch.inf)

    program = _lowered(Masked(), torch.randn(4, 16), compute_precision="bf16", max_error=0.05)
    assert _of_linear(program) == {"bf16": 1}


@pytest.mark.parametrize("channels", [24, 17])
@pytest.mark.parametrize("activation", [nn.ReLU6, nn.Hardswish])
def test_a_depthwise_convolution_whose_result_is_read_once_gives_the_same_products(
    channels: int, activation: type[nn.Module]
) -> None:
    class Separable(nn.Module):
        """With `returns_both`, the depthwise result has two readers."""

        def __init__(self, returns_both: bool) -> None:
            super().__init__()
            self.returns_both = returns_both
            self.depthwise = nn.Sequential(nn.Conv2d(channels, channels, 3, 2, 1, groups=channels), activation())
            self.product = nn.Conv2d(channels, 32, 1)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            y = self.depthwise(x)
            return (self.product(y), y) if self.returns_both else (self.product(y),)

    torch.manual_seed(0)
    alone, both = Separable(False), Separable(True)
    both.load_state_dict(alone.state_dict())
    x = torch.randn(2, channels, 19, 14)
    results = [
        Runtime.get()
        .load_program(_lowered(model, x, compute_precision="bf16").buffer)
        .load_method("forward")
        .execute([x])[0]
        for model in (alone, both)
    ]
    torch.testing.assert_close(results[0], results[1], rtol=0, atol=0)
    torch.testing.assert_close(results[0], alone(x)[0], rtol=BFLOAT16_PRODUCTS, atol=BFLOAT16_PRODUCTS)


def test_a_program_without_example_inputs_cannot_be_measured() -> None:
    model, x = nn.Linear(16, 16).eval(), torch.randn(2, 16)
    exported = torch.export.export(model, (x,))
    exported._example_inputs = None
    with pytest.raises(ValueError, match="max_error measures on the example inputs, which this program lacks"):
        to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner(compute_precision="bf16", max_error=1.0)])


@pytest.mark.parametrize("max_error", [0, -1.0, float("nan"), float("inf")])
def test_a_budget_is_positive(max_error: float) -> None:
    with pytest.raises(ValueError, match="max_error must be a positive number"):
        XnnpackPartitioner(compute_precision="bf16", max_error=max_error)


def test_a_budget_needs_a_precision() -> None:
    with pytest.raises(ValueError, match=r"with a compute_precision other than fp32; found 0\.1 with fp32"):
        XnnpackPartitioner(max_error=0.1)
