# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Layers of the Llama example that callers make themselves, against their formulas."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from executorch.examples.models.llama.attention import CachePositionsManager, CacheUpdateStrategy
from executorch.examples.models.llama.llama_transformer import FeedForward, Transformer, construct_transformer
from executorch.examples.models.llama.lora import LoRALinear
from executorch.examples.models.llama.model_args import ModelArgs


def test_an_adapter_is_scaled_by_alpha_over_rank():
    layer, x = LoRALinear(4, 3, rank=2, alpha=6, use_bias=True), torch.randn(5, 4)
    a, b = layer.lora_a.weight, layer.lora_b.weight
    plain = F.linear(x, layer.weight, layer.bias)
    torch.testing.assert_close(layer(x), plain + 3 * x @ a.T @ b.T)
    torch.testing.assert_close(layer(x, lora_a=2 * a, lora_b=b), plain + 6 * x @ a.T @ b.T)
    assert set(layer.state_dict()) == {"weight", "bias", "lora_a.weight", "lora_b.weight"}
    assert LoRALinear(4, 3, 2, 6).bias is None


def test_an_adapter_drops_inputs_only_in_training():
    layer, x = LoRALinear(4, 3, 2, 6, dropout=1.0), torch.randn(5, 4)
    torch.testing.assert_close(layer(x), F.linear(x, layer.weight))
    assert not torch.allclose(layer.eval()(x), F.linear(x, layer.weight))


def test_an_adapted_layer_shares_the_weight_of_the_linear_layer():
    linear, x = nn.Linear(4, 3, dtype=torch.float64), torch.randn(5, 4, dtype=torch.float64)
    layer = LoRALinear.of_linear(linear, rank=2)
    nn.init.ones_(layer.lora_a.weight)
    nn.init.ones_(layer.lora_b.weight)
    assert layer.weight is linear.weight
    torch.testing.assert_close(layer(x), linear(x) + 2 * x.sum(1, keepdim=True))


def test_an_mlp_has_the_given_sizes():
    layer, x = FeedForward(4, 6), torch.randn(5, 4)
    expected = layer.w2(F.silu(layer.w1(x)) * layer.w3(x))
    assert layer.w1.out_features == 6
    torch.testing.assert_close(layer(x), expected)


def test_a_decoder_is_constructed_from_its_sizes():
    decoder = construct_transformer(ModelArgs(dim=8, n_layers=1, n_heads=2, vocab_size=5, max_seq_len=4))
    assert isinstance(decoder, Transformer) and decoder(torch.tensor([[1, 2]])).shape == (1, 5)


def test_positions_have_a_ring_buffer_alone():
    assert CachePositionsManager(4, CacheUpdateStrategy.RING_BUFFER).sink_size == 0
    with pytest.raises(ValueError, match=r"expected RING_BUFFER, found CacheUpdateStrategy\.INVALID"):
        CachePositionsManager(4, CacheUpdateStrategy.INVALID)
