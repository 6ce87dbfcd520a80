# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Small modules whose programs C++ tests load, named as in ExecuTorch's tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn


@dataclass(frozen=True)
class Recipe:
    """Export settings of a program, and the inputs of its methods."""

    inputs: Mapping[str, tuple[Any, ...]]
    """Example inputs of each method of the program."""
    dynamic_shapes: Any = None
    plans_inputs_and_outputs: bool = True
    names_mutable_buffers: bool = False
    """The program names its state, and the caller provides the memory of the state."""
    shares_mutable_buffers: bool = False
    with_gradients: bool = False
    """The program computes the loss and the gradients of the parameters."""


class ModuleBasic(nn.Module):
    """A reduction to a tensor without dimensions."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sin().max()


class ModuleIndex(nn.Module):
    """A list of indices that has a gap: `aten::index.Tensor_out` reads [None, tensor]."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[1::2, torch.tensor([1, 2])]


class ModuleIntBool(nn.Module):
    """A tensor and two numbers."""

    def forward(self, x: torch.Tensor, y: int, z: bool) -> torch.Tensor:
        return x + y + int(z)


class ModuleNoOp(nn.Module):
    """Outputs that are the inputs."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x, y


class ModuleAdd(nn.Module):
    """Two tensors and a float."""

    def forward(self, x: torch.Tensor, y: torch.Tensor, alpha: float) -> torch.Tensor:
        return torch.add(x, y, alpha=alpha)


class ModuleAddHalf(ModuleAdd):
    """ModuleAdd of float16."""


class ModuleDynamicCatUnallocatedIO(nn.Module):
    """A dynamic first dimension; the plan leaves out input and output."""

    def forward(self, k: torch.Tensor) -> torch.Tensor:
        return torch.cat((k, torch.ones(1, 4)))


class ModuleAddMul(nn.Module):
    """Constants that are neither parameters nor buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = torch.full((2, 2), 3.0), torch.full((2, 2), 2.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.a * x + self.b


class ModuleLinear(nn.Module):
    """Weights, which may lie in a file of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.linear(x)
        return result


class ModuleMultipleEntry(nn.Module):
    """Two methods that share a constant."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = torch.full((2, 2), 3.0), torch.full((2, 2), 2.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.a

    def forward2(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.a + self.b


class ModuleSimpleTrain(nn.Module):
    """A loss."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.loss = nn.Linear(3, 3), nn.CrossEntropyLoss()

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.loss(self.linear(x).softmax(dim=0), y)
        return result


class ModuleStateful(nn.Module):
    """A counter of its calls."""

    state: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.zeros(1, dtype=torch.int32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.state.add_(1)
        return x + self.state


class ModuleKVCacheInputPos(ModuleLinear):
    """Takes tokens and their first position, like some language models."""

    def forward(self, x: torch.Tensor, input_pos: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return (self.linear(x.float()).long() + input_pos).float()


class ModuleKVCacheCachePos(ModuleLinear):
    """Takes tokens and the position of each token, like some language models."""

    def forward(self, x: torch.Tensor, cache_positions: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return (self.linear(x.float()).long() + cache_positions).float()


class ModuleNoKVCache(ModuleLinear):
    """Takes all previous tokens, like language models without a cache."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.linear(x.float())
        return result


class ModuleSharedState(nn.Module):
    """Three methods of one buffer."""

    state: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.state.add_(1) + x

    def get_state(self) -> torch.Tensor:
        return self.state

    def set_state(self, x: torch.Tensor) -> None:
        self.state.copy_(x)


_ROWS = torch.export.Dim("rows", max=3)
_TOKENS = torch.randint(100, (1, 3), generator=torch.Generator().manual_seed(0))
_SQUARE = torch.ones(2, 2)

RECIPES: Mapping[type[nn.Module], Recipe] = {
    ModuleBasic: Recipe({"forward": (torch.ones(100),)}),
    ModuleIndex: Recipe({"forward": (torch.ones(10, 10, 10),)}),
    ModuleIntBool: Recipe({"forward": (torch.ones(1), 1, True)}),
    ModuleNoOp: Recipe({"forward": (_SQUARE, _SQUARE + 1)}),
    ModuleAdd: Recipe({"forward": (_SQUARE, _SQUARE + 1, 1.0)}),
    ModuleAddHalf: Recipe({"forward": (_SQUARE.half(), _SQUARE.half() + 1, 1.0)}),
    ModuleDynamicCatUnallocatedIO: Recipe(
        {"forward": (torch.ones(3, 4),)}, dynamic_shapes=({0: _ROWS},), plans_inputs_and_outputs=False
    ),
    ModuleAddMul: Recipe({"forward": (_SQUARE,)}),
    ModuleLinear: Recipe({"forward": (torch.ones(3),)}),
    ModuleMultipleEntry: Recipe({"forward": (_SQUARE,), "forward2": (_SQUARE,)}),
    ModuleSimpleTrain: Recipe({"forward": (torch.ones(3), torch.tensor([1.0, 0.0, 0.0]))}, with_gradients=True),
    ModuleStateful: Recipe({"forward": (torch.ones(1),)}, names_mutable_buffers=True),
    ModuleKVCacheInputPos: Recipe({"forward": (_TOKENS, torch.tensor([0]))}),
    ModuleKVCacheCachePos: Recipe({"forward": (_TOKENS, torch.arange(3))}),
    ModuleNoKVCache: Recipe({"forward": (_TOKENS,)}),
    ModuleSharedState: Recipe(
        {"forward": (torch.ones(1),), "get_state": (), "set_state": (torch.ones(1),)}, shares_mutable_buffers=True
    ),
}
