# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Every kernel matches eager, errors included, on torch's samples and ours, in every dtype."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
import torch
from oracle.kernels.aten_calls import KernelsAgainstEager
from oracle.kernels.kernel_entry import registered_kernels
from oracle.kernels.kernel_records import GRADIENTS, RECORDS, Record, functional_of, numbers
from oracle.kernels.opinfo_samples import DTYPES, OPERATORS, samples_of

# The prim ops compute on numbers, quantized kernels have a reference that is not eager, and OpInfo does not know
# recurrent layers (test_recurrent.py) and products of groups (test_grouped_mm.py): they have tests of their own.
NOT_ON_TENSORS = ("executorch_prim::", "et_copy::", "aten::sym_", "aten::_local_scalar_dense")
TESTED_ELSEWHERE = (*NOT_ON_TENSORS, "quantized_decomposed::", "quantized_fused::", "recurrent::", "grouped::")
REFUSING = [op for op in OPERATORS if op.error_inputs_func is not None]

_tested: set[str] = set()
_run: set[str] = set()


@pytest.fixture(autouse=True)
def quick_torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Save time: seed only the CPU, because torch formats the stack for each GPU, and use one thread."""
    monkeypatch.setattr(torch, "manual_seed", torch.default_generator.manual_seed)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.formatted_name)
def test_kernels_match_eager_on_the_samples_of(op: Any) -> None:
    _run.add(op.formatted_name)
    faults: list[str] = []
    for dtype in (d for d in DTYPES if d in op.dtypes):
        for sample in samples_of(op, dtype):
            with torch.no_grad(), KernelsAgainstEager(decompose=True) as checked:
                op(sample.input, *sample.args, **sample.kwargs)
            _tested.update(checked.tested)
            faults += checked.faults
    assert not faults, "\n".join(faults)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", REFUSING, ids=lambda op: op.formatted_name)
def test_kernels_refuse_what_eager_refuses_of(op: Any) -> None:
    torch.manual_seed(0)
    faults: list[str] = []
    for wrong in op.error_inputs_func(op, "cpu"):
        sample = wrong.sample_input
        checked = KernelsAgainstEager(refusals=True)
        # Only the wrappers of torch's own tests refuse some of them.
        with contextlib.suppress(wrong.error_type), torch.no_grad(), checked:
            op(sample.input, *sample.args, **sample.kwargs)
        faults += checked.faults
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("record", RECORDS, ids=str)
def test_kernels_match_eager_on_the_record(record: Record) -> None:
    functional = functional_of(record.kernel)
    faults: list[str] = []
    for dtype in record.dtypes:
        torch.manual_seed(1)
        checked = KernelsAgainstEager()
        checked.call(record.kernel, functional, record.arguments(dtype), record.options)
        _tested.update(checked.tested)
        faults += checked.faults
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("name", GRADIENTS)
def test_kernels_match_eager_on_the_gradients_of(name: str) -> None:
    function, shapes = GRADIENTS[name]
    faults: list[str] = []
    for dtype in (torch.float32, torch.float64):
        torch.manual_seed(1)
        given = [numbers(dtype, *shape).requires_grad_() for shape in shapes]
        result = function(*given)
        seed = numbers(dtype, *result.shape)
        with KernelsAgainstEager() as checked:
            torch.autograd.grad(result, given, seed)
        _tested.update(checked.tested)
        faults += checked.faults
    assert not faults, "\n".join(faults)


def test_every_registered_kernel_is_compared_with_eager() -> None:
    if len(_run) < len(OPERATORS):
        pytest.skip("needs all tests of this file in one process")
    untested = {k for k in registered_kernels() - _tested if not k.startswith(TESTED_ELSEWHERE)}
    assert not untested, f"neither OpInfo nor oracle/kernels/kernel_records.py has samples for {sorted(untested)}"
