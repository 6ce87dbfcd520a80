# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A function as a module, which torch.export requires."""

from collections.abc import Callable
from typing import Any

from torch import nn


class Function(nn.Module):
    """Calls the function with the arguments of forward."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)
