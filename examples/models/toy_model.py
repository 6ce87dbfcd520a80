# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Models of one or two operators."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from executorch.examples.models.model_base import EagerModelBase
from executorch.exir.backend.compile_spec_schema import CompileSpec


class _Toy(nn.Module, EagerModelBase):
    """A module that is its own example."""

    def get_eager_model(self) -> nn.Module:
        """Return the module itself."""
        return self

    def get_example_inputs(self) -> tuple[Any, ...]:
        """Return the positional arguments of one call."""
        raise NotImplementedError(f"{type(self).__name__}.get_example_inputs")


class MulModule(_Toy):
    """The product of two tensors."""

    def forward(self, input: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        return input * other

    def get_example_inputs(self) -> tuple[Any, ...]:
        return torch.randn(3, 2), torch.randn(3, 2)


class LinearModule(_Toy):
    """A linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, arg: torch.Tensor) -> Any:
        return self.linear(arg)

    def get_example_inputs(self) -> tuple[Any, ...]:
        return (torch.randn(3, 3),)


class AddModule(_Toy):
    """The sum of two tensors."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y

    def get_example_inputs(self) -> tuple[Any, ...]:
        return torch.ones(1), torch.ones(1)


class AddMulModule(_Toy):
    """A matrix product and a sum."""

    def forward(self, a: torch.Tensor, x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.mm(a, x) + b

    def get_example_inputs(self) -> tuple[Any, ...]:
        return torch.ones(2, 2), torch.full((2, 2), 2.0), torch.full((2, 2), 3.0)

    def get_compile_spec(self) -> list[CompileSpec]:
        """Return the compile specs for the example backends: the rows of the first input."""
        return [CompileSpec("max_value", bytes([self.get_example_inputs()[0].shape[0]]))]


class SoftmaxModule(_Toy):
    """Softmax of each row."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.softmax(dim=1)

    def get_example_inputs(self) -> tuple[Any, ...]:
        return (torch.ones(2, 2),)


class Conv1dModule(_Toy):
    """A convolution of sequences."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1d = nn.Conv1d(3, 16, kernel_size=3, padding=1)

    def forward(self, x: torch.Tensor) -> Any:
        return self.conv1d(x)

    def get_example_inputs(self) -> tuple[Any, ...]:
        return (torch.randn(1, 3, 10),)


class SdpaModule(_Toy):
    """Scaled dot product attention without a mask."""

    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(query, key, value)

    def get_example_inputs(self) -> tuple[Any, ...]:
        """Return queries, keys and values (batch, heads, tokens, width)."""
        query, key, value = torch.randn(3, 2, 8, 128, 64, dtype=torch.bfloat16).unbind()
        return query, key, value
