# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Attention by `llama::custom_sdpa`, which reads the keys that exist and needs no mask."""

from __future__ import annotations

import torch
from torch import nn

from executorch.examples.models.llama.attention import SDPA
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401  # defines the operators


class SDPACustom(nn.Module):
    """Causal attention, or attention with a mask of all cache positions where `use_attention_mask`."""

    def __init__(self, use_attention_mask: bool = False) -> None:
        super().__init__()
        self.use_attention_mask = use_attention_mask

    def forward(
        self,
        input_pos: torch.Tensor,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        bsz: int,
        seqlen: int,
        mask: torch.Tensor | None,
    ) -> torch.Tensor:
        """q, k, v [batch, heads, positions, channels] → [batch, positions, heads * channels]."""
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        if self.use_attention_mask:
            # The mask says which keys exist: in a ring, positions grow beyond the slots.
            made = torch.ops.llama.custom_sdpa(q, k, v, 0, mask, 0.0, False)
        else:
            made = torch.ops.llama.custom_sdpa(q, k, v, input_pos[0].item(), None, 0.0, True)
        result: torch.Tensor = made.reshape(bsz, seqlen, -1).to(q.dtype)
        return result


def replace_sdpa_with_custom_op(module: nn.Module) -> nn.Module:
    """Replaces every SDPA below the module, in place. Returns the module, which goes without its mask."""
    for name, child in module.named_children():
        if isinstance(child, SDPA):
            setattr(module, name, SDPACustom())
        else:
            replace_sdpa_with_custom_op(child)
    drop_mask = getattr(module, "drop_mask", None)
    if callable(drop_mask):
        drop_mask()
    return module
