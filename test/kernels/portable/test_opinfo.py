# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Every kernel gives what eager gives, on the samples by which torch tests its own operators, in every dtype."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

from oracle.aten_calls import KernelsAgainstEager
from oracle.kernel_entry import registered_kernels

# Of each operator, spread over what OpInfo has; of the rarer dtypes one.
SAMPLES = 3
COMMON = (torch.float32, torch.int64)
DTYPES = (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
)
# Operators of other names than the kernels that they end in.
LEADING_TO_KERNELS = frozenset(
    "T contiguous chunk column_stack contiguous expand flatten fmod getitem __getitem__ to new_full ne masked_fill"
    " nn.functional.linear nn.functional.one_hot reshape resolve_conj scatter scatter_reduce select square"
    " std_mean swapaxes tensor_split unfold view where remainder nn.functional.pad clone ravel".split()
)
# Which kernels these lead to is tested in files of their own.
ELSEWHERE = {
    "dim_order_ops::": "test_copy.py",
    "executorch_prim::": "the prim ops",
    "aten::_conj_physical.out": "test_copy.py",
    "aten::copy.out": "test_copy.py",
    "aten::copy_": "test_copy.py",
}
# 16-bit floats: eager rounds the quotient before it is truncated, kernels after; next to an integer they differ by one.
ROUNDED_BEFORE_TRUNCATION = "aten::div.out_mode("

_tested: set[str] = set()


def _leads_to_a_kernel(name: str) -> bool:
    """By its name, so that collecting is quick."""
    last = name.removeprefix("nn.functional.").removeprefix("special.")
    served = {k.removeprefix("aten::").partition(".")[0].removesuffix("_copy") for k in registered_kernels()}
    return last in served or name in LEADING_TO_KERNELS


_operators = [op for op in op_db if _leads_to_a_kernel(op.name)]
_run: set[str] = set()


def _samples(op: Any, dtype: torch.dtype) -> Iterator[Any]:
    torch.manual_seed(0)
    found = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=False), 24))
    count = SAMPLES if dtype in COMMON else 1
    start = DTYPES.index(dtype) % max(1, len(found))
    return itertools.islice(itertools.cycle(found[start:] + found[:start]), 0, len(found), max(1, len(found) // count))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", _operators, ids=lambda op: op.formatted_name)
def test_kernels_match_eager_on_the_samples_of(op: Any) -> None:
    _run.add(op.formatted_name)
    faults: list[str] = []
    for dtype in (d for d in DTYPES if d in op.dtypes):
        for sample in _samples(op, dtype):
            with torch.no_grad(), KernelsAgainstEager() as checked:
                op(sample.input, *sample.args, **sample.kwargs)
            _tested.update(checked.tested)
            faults += checked.faults
    wrong = [f for f in faults if not (f.startswith(ROUNDED_BEFORE_TRUNCATION) and "float16" in f)]
    assert not wrong, "\n".join(wrong)


def test_every_registered_kernel_is_compared_with_eager() -> None:
    if len(_run) < len(_operators):
        pytest.skip("needs all tests of this file in one process")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
    untested = {k for k in registered_kernels() - _tested if not k.startswith(tuple(ELSEWHERE))}
    assert untested <= DIRECTLY_TESTED, f"no test for {sorted(untested - DIRECTLY_TESTED)}"
