# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A batch norm with constant statistics disappears into the layer before it, whatever the layer."""

from itertools import product
from typing import Any

import pytest
import torch
from models.module_kinds import Kind
from oracle.models.every_step import assert_step_saves
from oracle.models.planned_graph import call_targets, plan, run_planned
from oracle.tolerances import LAYER, LAYERS
from torch import nn
from torch.export import export

from executorch.exir import ExecutorchBackendConfig, to_edge

CONVOLUTIONS: dict[str, Any] = {
    f"{layer.__name__}{d}d": (layer, d)
    for d, pair in enumerate(
        [(nn.Conv1d, nn.ConvTranspose1d), (nn.Conv2d, nn.ConvTranspose2d), (nn.Conv3d, nn.ConvTranspose3d)], 1
    )
    for layer in pair
}


def _norm(channels: int, dimensions: int, **options: Any) -> nn.Module:
    norm = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)[dimensions - 1](channels, **options)
    for tensor in (norm.running_mean, norm.weight, norm.bias):
        if tensor is not None:
            nn.init.normal_(tensor)
    nn.init.uniform_(norm.running_var, 0.5, 2.0)
    return norm


def _operators(model: nn.Module, x: torch.Tensor) -> list[str]:
    """The program's operators, after its results are compared with eager's."""
    program = to_edge(export(model, (x,))).to_executorch(ExecutorchBackendConfig(check_target=False))
    torch.testing.assert_close(run_planned(program.exported_program(), x)[0], model(x), **LAYERS)
    return [operator.name for operator in program.executorch_program.execution_plan[0].operators]


@pytest.mark.parametrize(("kind", "bias", "groups"), list(product(CONVOLUTIONS, (True, False), (1, 2))))
def test_convolutions_of_all_kinds_take_a_batch_norm_in(kind: str, bias: bool, groups: int) -> None:
    layer, dimensions = CONVOLUTIONS[kind]
    torch.manual_seed(0)
    model = nn.Sequential(layer(4, 6, 3, bias=bias, groups=groups), _norm(6, dimensions, affine=bias)).eval()
    assert _operators(model, torch.randn(2, 4, *[5] * dimensions)) == ["aten::convolution"]


@pytest.mark.parametrize("bias", [True, False])
def test_linear_layers_take_a_batch_norm_in(bias: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6, bias=bias), _norm(6, 1), nn.ReLU()).eval()
    assert _operators(model, torch.randn(3, 4)) == ["aten::addmm", "aten::relu"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_layers_of_16_bits_take_a_batch_norm_in(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    exact = nn.Sequential(nn.Conv2d(4, 6, 3), _norm(6, 2)).eval()
    x = torch.randn(1, 4, 5, 5)
    expected = exact(x.to(dtype).float())
    program = to_edge(export(exact.to(dtype), (x.to(dtype),))).to_executorch()
    assert [operator.name for operator in program.executorch_program.execution_plan[0].operators] == [
        "aten::convolution"
    ]
    result = run_planned(program.exported_program(), x.to(dtype))[0].float()
    assert (result - expected).norm() <= 2 * torch.finfo(dtype).eps * expected.norm()


@pytest.mark.parametrize(("gamma", "variance"), [(6e4, 1e-4), (1e-6, 1.0)])
def test_a_batch_norm_stays_where_16_bits_do_not_hold_the_folded_weights(gamma: float, variance: float) -> None:
    model = nn.Sequential(nn.Conv1d(2, 2, 1), nn.BatchNorm1d(2))
    nn.init.constant_(model[1].weight, gamma)
    nn.init.constant_(model[1].running_var, variance)
    program = to_edge(export(model.half().eval(), (torch.randn(1, 2, 3).half(),))).to_executorch()
    names = [operator.name for operator in program.executorch_program.execution_plan[0].operators]
    assert "aten::_native_batch_norm_legit_no_training" in names


class TwiceTheWeight(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.first, self.second = nn.Conv1d(2, 2, 1), _norm(2, 1), _norm(2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.convolution(self.first(self.convolution(x))))


class BothRead(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.norm = nn.Conv1d(2, 2, 1), _norm(2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.convolution(x)
        return self.norm(y) + y


class OwnStatistics(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(2, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.batch_norm(self.convolution(x), None, None, training=True)


@pytest.mark.parametrize("model", [TwiceTheWeight(), BothRead(), OwnStatistics()], ids=lambda m: type(m).__name__)
def test_a_batch_norm_stays_where_something_else_reads_the_layer_or_where_it_takes_its_own_statistics(
    model: nn.Module,
) -> None:
    assert [name for name in _operators(model.eval(), torch.randn(2, 2, 5)) if "batch_norm" in name]


def test_batch_norms_after_a_shared_weight_are_correct() -> None:
    shared = nn.Linear(3, 3)
    model = nn.Sequential(shared, _norm(3, 1), shared, _norm(3, 1)).eval()
    assert "aten::_native_batch_norm_legit_no_training" in _operators(model, torch.randn(2, 3))


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_a_batch_norm_goes_into_the_convolution_before_it(memory_format):
    torch.manual_seed(0)
    first, second = torch.nn.Conv2d(3, 8, 3, groups=1), torch.nn.Conv2d(8, 8, 3, groups=8, bias=False)
    norms = [torch.nn.BatchNorm2d(8), torch.nn.BatchNorm2d(8, affine=False), torch.nn.BatchNorm2d(3)]
    for norm in norms:
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2)
    model = torch.nn.Sequential(norms[2], first, norms[0], torch.nn.ReLU(), second, norms[1]).eval()
    model, x = model.to(memory_format=memory_format), torch.randn(1, 3, 8, 8).to(memory_format=memory_format)
    program = plan(model, x)
    assert sum("batch_norm" in target for target in call_targets(program)) == 1
    torch.testing.assert_close(run_planned(program, x)[0], model(x), **LAYER)


def test_a_folded_batch_norm_saves_calls() -> None:
    model = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).eval()
    assert_step_saves("fold_batch_norm", Kind(model, [(torch.randn(1, 2, 6, 6),)]))
