# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Call or trace an operator on fake tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeVar

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensorMode

from executorch.exir.dialects.edge._ops import EdgeOpOverload

_T = TypeVar("_T")
_CONVOLUTIONS = frozenset(
    f"aten::{name}"
    for name in (
        *("convolution", "_convolution", "conv1d", "conv2d", "conv3d"),
        *("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
    )
)


def call_on_fakes(
    mode: FakeTensorMode, target: Callable[..., _T], args: Sequence[object], kwargs: Mapping[str, object]
) -> _T:
    """Return the result of `target` on fake tensors of `mode`, computed without gradients."""
    with computing_on_fakes(mode, target):
        return target(*args, **kwargs)


@contextmanager
def computing_on_fakes(mode: FakeTensorMode, target: object) -> Iterator[None]:
    """Compute `target`, or trace its decomposition, on fake tensors of `mode`, without gradients."""
    # The Python dispatcher keeps symbolic sizes symbolic.
    with enable_python_dispatcher(), mode, torch.no_grad(), _guards(mode, target):
        yield


def _guards(mode: FakeTensorMode, target: object) -> AbstractContextManager[object]:
    """Let no convolution narrow the bounds of sizes.

    To choose a kernel, torch compares the batch with a number ("4 * batch < 16"). The result for the example's batch
    would become a bound of the program's batch.
    """
    is_convolution = isinstance(target, (OpOverload, EdgeOpOverload)) and target._schema.name in _CONVOLUTIONS
    if not is_convolution or mode.shape_env is None:
        return nullcontext()
    return mode.shape_env.suppress_guards()
