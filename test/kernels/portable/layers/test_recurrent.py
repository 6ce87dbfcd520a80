# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Stacks of recurrent layers against eager, in float64 where eager rounds at every step."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from oracle.kernels.against_eager import assert_kernel_refuses
from oracle.kernels.kernel_entry import call_kernel
from oracle.tolerances import LAYERS, LONG_SUMS

from executorch.exir.dialects import recurrent_ops

GATES = dict(zip(recurrent_ops.LAYERS, (4, 3, 1, 1), strict=True))
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
SIZES = {"steps": 5, "batch": 3, "features": 7, "hidden": 9, "layers": 2}
Stack = dict[str, Any]


def stack(name: str, *, projection: int = 0, biases: bool = True, both: bool = False, **sizes: int) -> Stack:
    """Arguments in float64."""
    s = SIZES | sizes
    directions, hidden = 2 if both else 1, s["hidden"]
    state, rows = projection or hidden, GATES[name] * hidden

    def random(*shape: int) -> torch.Tensor:  # small enough that no rounding error grows from step to step
        return torch.randn(*shape, dtype=torch.float64) * min(0.4, 0.8 / hidden**0.5)

    params = []
    for layer, _ in itertools.product(range(s["layers"]), range(directions)):
        params += [random(rows, s["features"] if layer == 0 else directions * state), random(rows, state)]
        params += [random(rows), random(rows)] if biases else []
        params += [random(projection, hidden)] if projection else []
    states = [random(s["layers"] * directions, s["batch"], size) for size in (state, hidden)]
    return {
        "input": random(s["steps"], s["batch"], s["features"]),
        "hx": states if name == "lstm" else states[0],
        "params": params,
        "has_biases": biases,
        "num_layers": s["layers"],
        "bidirectional": both,
        "batch_first": False,
    }


def converted(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, list):
        return [converted(item, dtype) for item in value]
    return value.to(dtype) if isinstance(value, torch.Tensor) else value


def assert_matches_eager(name: str, given: Stack, dtype: torch.dtype = torch.float32) -> None:
    given = {key: converted(value, dtype) for key, value in given.items()}
    expected = getattr(torch.ops.recurrent, name)(
        **{key: converted(value, torch.float64) for key, value in given.items()}
    )
    outs = [torch.full_like(one, 77, dtype=dtype) for one in expected]
    call = call_kernel(f"recurrent::{name}.out", *given.values(), out=outs)
    assert call.error == 0, call.message
    rtol, atol = LONG_SUMS[dtype]
    for found, wanted in zip(call.outputs, expected, strict=True):
        torch.testing.assert_close(found, wanted.to(dtype), rtol=rtol, atol=atol)


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", recurrent_ops.LAYERS)
def test_layers_of_every_kind_and_dtype_match_eager(name: str, dtype: torch.dtype) -> None:
    for both, biases in itertools.product((False, True), repeat=2):
        assert_matches_eager(name, stack(name, both=both, biases=biases), dtype)


@pytest.mark.parametrize("name", recurrent_ops.LAYERS)
def test_sizes_around_the_blocks_match_eager(name: str) -> None:
    for sizes in (
        {"batch": 1, "hidden": 1, "layers": 1},
        {"batch": 1, "hidden": 70, "layers": 3},
        {"batch": 4, "hidden": 8, "features": 1},
        {"batch": 9, "hidden": 33, "steps": 31},
        {"batch": 1, "hidden": 5, "steps": 600},
        {"batch": 300, "hidden": 6, "steps": 2},
        {"batch": 0},
    ):
        assert_matches_eager(name, stack(name, both=sizes["batch"] != 4, **sizes))


@pytest.mark.parametrize("name", recurrent_ops.LAYERS)
def test_no_steps_leave_the_states_as_they_are(name: str) -> None:
    assert_matches_eager(name, stack(name, steps=0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_projections_match_eager(dtype: torch.dtype) -> None:
    for both, biases, batch in itertools.product((False, True), (False, True), (1, 6)):
        assert_matches_eager("lstm", stack("lstm", projection=4, both=both, biases=biases, batch=batch), dtype)


@pytest.mark.parametrize("name", recurrent_ops.LAYERS)
def test_batches_may_come_first_and_memory_in_any_order(name: str) -> None:
    given = stack(name, both=True)
    given |= {"input": given["input"].transpose(0, 1).contiguous(), "batch_first": True}
    assert_matches_eager(name, given)
    given["input"] = given["input"].transpose(0, 2).contiguous().transpose(0, 2)
    given["params"] = [one.t().contiguous().t() if one.dim() == 2 else one for one in given["params"]]
    assert_matches_eager(name, given)


def test_large_gates_saturate_and_nan_stays() -> None:
    given = stack("lstm", layers=1)
    given["input"][0, 0] *= 1e4
    given["input"][1, 1, 0] = torch.inf
    given["input"][2, 2, 0] = torch.nan
    outs = [torch.empty(5, 3, 9), torch.empty(1, 3, 9), torch.empty(1, 3, 9)]
    single = {key: converted(value, torch.float32) for key, value in given.items()}
    found = call_kernel("recurrent::lstm.out", *single.values(), out=outs).outputs
    for one, wanted in zip(found, torch.ops.recurrent.lstm(**given), strict=True):
        torch.testing.assert_close(one, wanted.float(), **LAYERS, equal_nan=True)


def _without(given: Stack, key: str) -> Stack:
    return given | {key: given[key][:-1]}


def test_arguments_that_do_not_fit_are_refused() -> None:
    given = {key: converted(value, torch.float32) for key, value in stack("lstm").items()}
    outs = [torch.empty(5, 3, 9), torch.empty(2, 3, 9), torch.empty(2, 3, 9)]
    wide = torch.randn(2, 3, 10)
    bad: list[tuple[Stack, str]] = [
        (given | {"input": torch.randn(5, 7)}, "3 dimensions"),
        (given | {"input": given["input"].double()}, "dtype"),
        (given | {"input": given["input"].long()}, "floating"),
        (given | {"input": torch.randn(5, 3, 8)}, "weights of the input"),
        (given | {"hx": [wide, given["hx"][1]]}, "parameters"),
        (given | {"hx": [given["hx"][0][:, :2].contiguous(), given["hx"][1]]}, "initial state"),
        (_without(given, "hx"), "initial states"),
        (_without(given, "params"), "parameters"),
        (given | {"params": given["params"][::-1]}, "sizes"),
        *((given | {"num_layers": layers}, "layers") for layers in (0, -1, 3, 2**62)),
        (given | {"has_biases": False}, "parameters"),
        (given | {"bidirectional": True}, "parameters"),
    ]
    for arguments, word in bad:
        assert word in assert_kernel_refuses("recurrent::lstm.out", *arguments.values(), out=outs)
