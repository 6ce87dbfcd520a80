# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A reproducible choice of the samples with which torch tests its own operators.

For each operator and dtype, the choice is ``EXECUTORCH_ORACLE_SAMPLES`` (2 if unset; 0 means all) of the first READ
samples, evenly spread. Each dtype begins at another sample, so that ten dtypes together use many samples.
``EXECUTORCH_ORACLE_SEED`` selects other values and another beginning.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db

SAMPLES = int(os.environ.get("EXECUTORCH_ORACLE_SAMPLES", "2"))
SEED = int(os.environ.get("EXECUTORCH_ORACLE_SEED", "0"))
READ = 40
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
# jiterator compiles only for CUDA.
OPERATORS = [op for op in op_db if not op.name.startswith("jiterator")]


def samples_of(op: Any, dtype: torch.dtype) -> Iterator[Any]:
    """SampleInputs of the operator."""
    torch.manual_seed(SEED)
    # Not op.sample_inputs, which walks the stack for each sample in search of a unittest.
    every = op.sample_inputs_func(op, "cpu", dtype, False)
    samples = list(itertools.islice(every, READ if SAMPLES else None))
    if SAMPLES == 0 or len(samples) <= SAMPLES:
        return iter(samples)
    start = (DTYPES.index(dtype) + SEED) % len(samples)
    return itertools.islice(itertools.cycle(samples), start, start + len(samples), -(-len(samples) // SAMPLES))
