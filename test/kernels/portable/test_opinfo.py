# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Every kernel gives what eager gives, on the samples by which torch tests its own operators, in every dtype."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from oracle.aten_calls import KernelsAgainstEager
from oracle.kernel_entry import registered_kernels
from torch.testing._internal.common_methods_invocations import op_db

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
    {
        *("T", "chunk", "column_stack", "contiguous", "flatten", "fmod", "getitem", "__getitem__", "ravel", "reshape"),
        *("resolve_conj", "square", "std_mean", "swapaxes", "tensor_split", "to", "new_full", "unfold"),
        *("nn.functional.linear", "nn.functional.one_hot", "nn.functional.pad"),
    }
)
# Where eager rounds 16-bit intermediates (a quotient before it is truncated, where in an
# image a sample lies) and kernels do not: next to an integer or a pixel's border the results differ.
ROUNDED_BY_EAGER = ("aten::div.out_mode(", "aten::grid_sampler_2d.out(", "aten::grid_sampler_3d.out(")
# Where eager's float32 loses digits (trigamma near its poles); float64 is compared.
COARSE_IN_EAGER = ("aten::polygamma.out(1, float32", "aten::polygamma.out(1, int", "aten::polygamma.out(1, uint8")
# The prim ops compute on numbers; they have tests of their own.
NOT_ON_TENSORS = ("executorch_prim::", "et_copy::", "aten::sym_", "aten::_local_scalar_dense")
# Named by a pattern in test_resample.py and test_pool_and_pad.py.
BY_PATTERN = (
    "aten::_upsample_nearest_exact",
    "aten::upsample_nearest",
    "aten::reflection_pad",
    "aten::replication_pad",
)

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
    wrong = [f for f in faults if not (f.startswith(ROUNDED_BY_EAGER) and "float16" in f)]
    wrong = [f for f in wrong if not f.startswith(COARSE_IN_EAGER)]
    assert not wrong, "\n".join(wrong)


aten = torch.ops.aten
INTEGERS_AND_BOOL = DTYPES[4:]
NUMBERS = DTYPES[:-1]
FLOATS = DTYPES[:4]
# Overloads that torch's own functions do not end in: who they are, the dtypes, the arguments after self.
OVERLOADS = [
    (aten.add.Scalar, DTYPES, (3,)),
    (aten.add.Scalar, NUMBERS, (300, 2)),
    (aten.sub.Scalar, NUMBERS, (3, 2)),
    (aten.rsub.Scalar, NUMBERS, (3, 2)),
    (aten.mul.Scalar, DTYPES, (-3,)),
    (aten.mul.Scalar, DTYPES, (2.5,)),
    (aten.div.Scalar, DTYPES, (3,)),
    (aten.div.Scalar_mode, NUMBERS, (3,), {"rounding_mode": "floor"}),
    (aten.div.Scalar_mode, NUMBERS, (-3,), {"rounding_mode": "trunc"}),
    (aten.floor_divide.Scalar, NUMBERS, (-3,)),
    (aten.fmod.Scalar, NUMBERS, (3,)),
    (aten.remainder.Scalar, NUMBERS, (-3,)),
    (aten.pow.Tensor_Scalar, NUMBERS, (2,)),
    (aten.pow.Tensor_Scalar, NUMBERS, (3,)),
    (aten.clamp.default, NUMBERS, (-1, 2)),
    (aten.clamp.default, NUMBERS, (None, 1.5)),
    (aten.clamp_min.default, NUMBERS, (1,)),
    (aten.clamp_max.default, NUMBERS, (1,)),
    (aten.bitwise_and.Scalar, INTEGERS_AND_BOOL, (1,)),
    (aten.bitwise_or.Scalar, INTEGERS_AND_BOOL, (5,)),
    (aten.bitwise_xor.Scalar, INTEGERS_AND_BOOL, (5,)),
    (aten.bitwise_left_shift.Tensor_Scalar, INTEGERS_AND_BOOL[:-1], (2,)),
    (aten.bitwise_right_shift.Tensor_Scalar, INTEGERS_AND_BOOL[:-1], (1,)),
    *((getattr(aten, name).Scalar, DTYPES, (2,)) for name in ("eq", "ne", "lt", "le", "gt", "ge")),
    *((getattr(aten, name).Scalar, NUMBERS, (0.5,)) for name in ("eq", "ne", "lt", "le", "gt", "ge")),
    (aten.alias_copy.default, DTYPES, ()),
    (aten.narrow_copy.default, DTYPES, (1, -2, 2)),
    (aten.fill.Tensor, DTYPES, (torch.tensor(3),)),
    (aten.var.default, FLOATS, (False,)),
]


def _self_of(dtype: torch.dtype) -> torch.Tensor:
    torch.manual_seed(1)
    values = torch.randint(-9, 10, (4, 5)) if dtype.is_signed else torch.randint(0, 10, (4, 5))
    return values.to(dtype) * (0.75 if dtype.is_floating_point else 1)


@pytest.mark.parametrize("case", OVERLOADS, ids=lambda case: f"{case[0]}{case[2]}")
def test_kernels_match_eager_on_the_overload(case: tuple[Any, ...]) -> None:
    operator, dtypes, arguments, *options = case
    for dtype in dtypes:
        with KernelsAgainstEager() as checked:
            operator(_self_of(dtype), *arguments, **(options[0] if options else {}))
        assert checked.tested, f"no kernel was found for {operator}"
        _tested.update(checked.tested)
        assert not checked.faults, "\n".join(checked.faults)


@pytest.mark.parametrize("operator", [aten.pow.Scalar, aten.remainder.Scalar_Tensor], ids=str)
def test_kernels_match_eager_on_a_number_before_a_tensor(operator: Any) -> None:
    for dtype in NUMBERS:
        with KernelsAgainstEager() as checked:
            operator(7, _self_of(dtype).abs() + 1)
        _tested.update(checked.tested)
        assert not checked.faults, "\n".join(checked.faults)


def test_every_registered_kernel_is_compared_with_eager_here_or_in_a_file_beside() -> None:
    if len(_run) < len(_operators):
        pytest.skip("needs all tests of this file in one process")
    siblings = "".join(p.read_text() for p in Path(__file__).parent.glob("test_*.py") if p != Path(__file__))
    elsewhere = (*NOT_ON_TENSORS, *BY_PATTERN)
    untested = {k for k in registered_kernels() - _tested if not k.startswith(elsewhere) and k not in siblings}
    assert not untested, f"no test for {sorted(untested)}"
