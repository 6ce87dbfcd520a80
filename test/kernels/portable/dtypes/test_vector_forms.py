# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Loops compiled for several instruction sets (kernels/loops/elementwise/simd_dispatch.h) compute the same bits."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from benchmark.operator_cases import operator_cases, room_for_outputs
from oracle.kernels.kernel_entry import VECTORS, call_kernel, vectors

PRODUCTS = {"convolution", "convolution_backward", "mm", "addmm", "bmm", "linear"}
"""Operators that use fused multiply-add if the processor has it, so that bits may differ."""
NEW_EACH_TIME = {"rand", "randn", "native_dropout", "empty"}


def results(name: str, args: tuple[Any, ...], kind: str) -> list[torch.Tensor]:
    with vectors(kind) as has_them:
        if not has_them:
            pytest.skip(f"this build, or this processor, cannot choose the vectors {kind}")
        call = call_kernel(name, *args, out=room_for_outputs(name, args))
    assert call.error == 0, f"{name} with {kind} vectors: {call.message}"
    return [t for o in call.outputs for t in (o if isinstance(o, list) else [o])]


@pytest.mark.parametrize("kind", VECTORS[1:])
def test_every_kind_of_vectors_gives_the_same_bits(kind: str) -> None:
    differing = []
    for label, name, args in operator_cases(128):
        operator = name.removeprefix("aten::").partition(".")[0]
        if operator in PRODUCTS | NEW_EACH_TIME:
            continue
        pairs = zip(results(name, args, VECTORS[0]), results(name, args, kind), strict=True)
        if not all(torch.equal(a.reshape(-1).view(torch.uint8), b.reshape(-1).view(torch.uint8)) for a, b in pairs):
            differing.append(label)
    assert not differing
