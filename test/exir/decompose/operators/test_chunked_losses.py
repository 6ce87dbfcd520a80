# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""torch's cross entropy of a linear layer, computed in chunks of the batch, lowers as the layer and its loss."""

from __future__ import annotations

import pytest
import torch
from oracle.models.pipeline import assert_matches_eager
from torch.nn.modules.linear_cross_entropy_options import LinearCrossEntropyOptions


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_a_chunked_loss_matches_eager(reduction: str) -> None:
    options = LinearCrossEntropyOptions(batch_chunk_size=4)
    loss = torch.nn.LinearCrossEntropyLoss(5, 4, reduction=reduction, ignore_index=1, options=options).eval()
    loss.requires_grad_(False)
    assert_matches_eager(loss, (torch.randn(8, 5), torch.tensor([0, 1, 2, 3, 3, 2, 1, 0])))
