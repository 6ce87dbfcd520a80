# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The gated short convolution of LFM2, which takes the place of attention in some layers."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from executorch.examples.models.llama.model_args import ModelArgs


class ShortConv(nn.Module):
    """out_proj(c * conv(b * x)): b, c and x are projections, conv runs over the last positions of each channel.

    With a cache, `conv_state` [batch, dim, kernel size - 1] has the convolution's inputs at the positions before a
    call. Position 0 starts from zeros; calls must come in the order of their positions.
    """

    conv_state: torch.Tensor

    def __init__(self, args: ModelArgs) -> None:
        super().__init__()
        self.kept, self.use_cache = args.conv_kernel_size - 1, args.use_kv_cache
        self.in_proj = nn.Linear(args.dim, 3 * args.dim, bias=args.conv_bias)
        self.conv = nn.Conv1d(args.dim, args.dim, args.conv_kernel_size, groups=args.dim, bias=args.conv_bias)
        self.out_proj = nn.Linear(args.dim, args.dim, bias=args.conv_bias)
        if self.use_cache:
            self.register_buffer("conv_state", torch.zeros(args.max_batch_size, args.dim, self.kept))

    def forward(self, x: torch.Tensor, input_pos: torch.Tensor | None) -> torch.Tensor:
        """x [batch, positions, dim]."""
        b, c, x = self.in_proj(x).transpose(1, 2).chunk(3, dim=1)
        inputs = b * x
        if self.use_cache:
            assert input_pos is not None
            before = torch.where(input_pos == 0, 0.0, self.conv_state).to(inputs.dtype)
            inputs = torch.cat((before, inputs), dim=2)
            self.conv_state.copy_(inputs[:, :, -self.kept :])
        else:
            inputs = F.pad(inputs, (self.kept, 0))
        result: torch.Tensor = self.out_proj((c * self.conv(inputs)).transpose(1, 2))
        return result
