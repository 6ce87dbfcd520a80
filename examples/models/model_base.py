# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The interface of the example models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch


class EagerModelBase(ABC):
    """Builds a model and the arguments of one call.

    A class may also define get_example_kwarg_inputs() and get_dynamic_shapes(), as torch.export.export expects them.
    """

    @abstractmethod
    def get_eager_model(self) -> torch.nn.Module:
        """Return the model."""

    @abstractmethod
    def get_example_inputs(self) -> tuple[Any, ...]:
        """Return the positional arguments of one call."""
