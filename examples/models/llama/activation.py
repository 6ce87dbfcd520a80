# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Activations of gated MLPs, by the names that Hugging Face gives them."""

from __future__ import annotations

import torch
import torch.nn.functional as F


def activate(x: torch.Tensor, name: str) -> torch.Tensor:
    """Apply silu or gelu_pytorch_tanh."""
    return F.gelu(x, approximate="tanh") if name == "gelu_pytorch_tanh" else F.silu(x)
