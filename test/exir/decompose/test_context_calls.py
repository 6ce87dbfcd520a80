# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Programs with `torch.no_grad()` and `torch.autocast(...)` in forward."""

from typing import Any

import pytest
import torch
from models.function_module import Function
from oracle.tolerances import LAYER, ONE_ROUNDING, ROUNDED_ONCE
from torch import nn

from executorch.exir import to_edge
from executorch.runtime import Runtime


class _Layer(nn.Module):
    """A linear layer on the results of a context, which gets the layer and the input."""

    def __init__(self, forward: Any) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(4, 4)
        self.register_buffer("total", torch.zeros(4))
        self._forward = forward

    def forward(self, x: torch.Tensor) -> Any:
        return self._forward(self, x)


def _without_gradients(layer: _Layer, x: torch.Tensor) -> Any:
    with torch.no_grad():
        y = torch.softmax(x, -1)
        z = y.sin()
    return layer.linear(y) + z


def _nested(layer: _Layer, x: torch.Tensor) -> Any:
    with torch.no_grad():
        y = x.sin()
        with torch.enable_grad():
            y = layer.linear(y)
            with torch.autocast("cpu", enabled=False):
                y = y.exp()
        z = y + 1
    return z, y


def _with_control_flow(layer: _Layer, x: torch.Tensor) -> Any:
    with torch.no_grad():
        y = torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))
    return layer.linear(y)


def _writing(layer: _Layer, x: torch.Tensor) -> Any:
    with torch.autocast("cpu", enabled=False):
        layer.total.add_(x[0])
        y = layer.total * 2
    return layer.linear(x) + y


def _for_another_device(layer: _Layer, x: torch.Tensor) -> Any:
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return layer.linear(x)


_CONTEXTS = [_without_gradients, _nested, _with_control_flow, _writing, _for_another_device]


def _results(method: Any, x: torch.Tensor) -> list[Any]:
    return [method.execute((x,)) for _ in range(2)]


def _expected(model: nn.Module, x: torch.Tensor) -> list[Any]:
    results = [model(x) for _ in range(2)]
    return [result if isinstance(result, tuple) else (result,) for result in results]


@pytest.mark.filterwarnings("ignore")  # autocast warns that the device is absent
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("context", _CONTEXTS)
def test_contexts_are_inlined_without_a_trace_of_the_program(
    context: Any, strict: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = torch.randn(3, 4)
    exported = torch.export.export(_Layer(context), (x,), strict=strict)
    monkeypatch.delattr(torch.export.ExportedProgram, "run_decompositions")
    method = Runtime.get().load_program(to_edge(exported).to_executorch().buffer).load_method("forward")
    torch.testing.assert_close(_results(method, x), [list(one) for one in _expected(_Layer(context), x)])


@pytest.mark.parametrize("strict", [False, True])
def test_a_context_that_casts_computes_in_its_dtype(strict: bool) -> None:
    def cast(layer: _Layer, x: torch.Tensor) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = layer.linear(x)
        return y.float() + layer.linear(x)

    x = torch.randn(3, 4)
    exported = torch.export.export(_Layer(cast), (x,), strict=strict)
    method = Runtime.get().load_program(to_edge(exported).to_executorch().buffer).load_method("forward")
    (sum_of_both,) = method.execute((x,))
    assert not torch.allclose(sum_of_both, 2 * _Layer(cast).linear(x), **LAYER)
    torch.testing.assert_close(
        _results(method, x), [list(one) for one in _expected(_Layer(cast), x)], **ROUNDED_ONCE[torch.bfloat16]
    )


def _branches_that_cast(layer: _Layer, x: torch.Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = torch.cond(x.sum() > 0, lambda x: layer.linear(x).float(), lambda x: layer.linear(x).float() + 1, (x,))
    return y + layer.linear(x)


def _exempt_branches(layer: _Layer, x: torch.Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = layer.linear(x)
        with torch.autocast("cpu", enabled=False):
            z = torch.cond(x.sum() > 0, lambda x: layer.linear(x), lambda x: layer.linear(x) + 1, (x,))
    return y.float() + z


def _branches_in_a_disabled_context(layer: _Layer, x: torch.Tensor) -> Any:
    with torch.autocast("cpu", enabled=False):
        return torch.cond(x.sum() > 0, lambda x: layer.linear(x), lambda x: layer.linear(x) + 1, (x,))


def _nested_branches(layer: _Layer, x: torch.Tensor) -> Any:
    def inside(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return torch.cond(x.max() > 9, lambda x: x + 1, lambda x: layer.linear(x).float(), (x,))

    return torch.cond(x.sum() > 0, inside, lambda x: layer.linear(x), (x,))


@pytest.mark.sampled
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    "context", [_branches_that_cast, _exempt_branches, _branches_in_a_disabled_context, _nested_branches]
)
def test_control_flow_inside_of_autocast_computes_in_its_dtype(context: Any, strict: bool) -> None:
    x = torch.randn(3, 4).abs()
    exported = torch.export.export(_Layer(context), (x,), strict=strict)
    method = Runtime.get().load_program(to_edge(exported).to_executorch().buffer).load_method("forward")
    for one in (x, -x):
        torch.testing.assert_close(method.execute((one,))[0], _Layer(context)(one), **ONE_ROUNDING)


def test_a_context_whose_result_is_an_output_is_inlined() -> None:
    def add(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return x + 1

    x = torch.randn(3)
    edge = to_edge(torch.export.export(Function(add), (x,)))
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    assert torch.equal(method.execute((x,))[0], x + 1)
