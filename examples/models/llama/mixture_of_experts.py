# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Mixtures of experts: a router chooses the gated MLPs that compute a token."""

from __future__ import annotations

import torch
from torch import nn

from executorch.examples.models.llama.activation import activate
from executorch.examples.models.llama.model_args import ModelArgs
from executorch.exir.dialects import grouped_ops  # noqa: F401  # defines grouped::grouped_mm


class MixtureOfExperts(nn.Module):
    """The sum of the chosen experts, each times its probability. Experts without tokens are not read.

    w13 [experts, 2 * hidden, dim] holds w1 and w3 of each expert, w2 is [experts, dim, hidden].
    """

    def __init__(self, args: ModelArgs) -> None:
        super().__init__()
        hidden = args.moe_hidden_dim or args.hidden_dim
        assert hidden is not None
        self.experts, self.chosen = args.num_experts, args.num_activated_experts
        self.normalizes, self.act_fn = args.moe_normalize_weights, args.act_fn
        self.gate = nn.Linear(args.dim, args.num_experts, bias=False)
        self.w13 = nn.Parameter(torch.randn(args.num_experts, 2 * hidden, args.dim) * args.dim**-0.5)
        self.w2 = nn.Parameter(torch.randn(args.num_experts, args.dim, hidden) * hidden**-0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x [..., dim]."""
        rows = x.reshape(-1, x.shape[-1])
        weights, experts = self.gate(rows).float().softmax(-1).topk(self.chosen, dim=-1)
        if self.normalizes:
            weights = weights / weights.sum(-1, keepdim=True)
        experts = experts.flatten()
        order = experts.argsort(stable=True)
        ends = (experts[:, None] == torch.arange(self.experts, device=x.device)).sum(0).cumsum(0).to(torch.int32)
        multiply = torch.ops.grouped.grouped_mm
        gate, up = multiply(rows[order // self.chosen], self.w13, ends, True).chunk(2, dim=-1)
        products = multiply(activate(gate, self.act_fn) * up, self.w2, ends, True)
        products = products[order.argsort()] * weights.to(x.dtype).flatten()[:, None]
        result: torch.Tensor = products.unflatten(0, (-1, self.chosen)).sum(1).view(x.shape)
        return result
