# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A decoder's caches, written by torch's operators or the custom ones: all positions, or a sliding window."""

import pytest
import torch
import torch.nn.functional as F
from oracle.tolerances import INT8_CACHE, LAYERS, MODEL
from torch import nn

from executorch.examples.models.llama.attention import SDPA, CachePositionsManager, KVCache, RingKVCache
from executorch.examples.models.llama.llama_transformer import Transformer
from executorch.examples.models.llama.model_args import ModelArgs
from executorch.examples.models.llama.source_transformation.attention_sink import enable_attention_sink
from executorch.examples.models.llama.source_transformation.custom_kv_cache import (
    CustomKVCache,
    CustomRingKVCache,
    QuantizedCacheType,
    QuantizedKVCache,
    replace_kv_cache_with_custom_kv_cache,
    replace_kv_cache_with_quantized_kv_cache,
    replace_kv_cache_with_ring_kv_cache,
)
from executorch.examples.models.llama.source_transformation.sdpa import (
    QuantizedSDPA,
    SDPACustom,
    replace_sdpa_with_custom_op,
    replace_sdpa_with_quantized_sdpa,
)
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.runtime import Runtime

WINDOW, CONTEXT = 4, 32


def decoder(window_of_layers, context=CONTEXT):
    """A decoder with caches, and one without whose attention is hidden by the same windows."""
    torch.manual_seed(0)
    sizes = {"dim": 16, "n_layers": 2, "n_heads": 4, "n_kv_heads": 2, "vocab_size": 30, "hidden_dim": 24}
    args = ModelArgs(
        **sizes, max_seq_len=context, max_context_len=context, use_kv_cache=True, generate_full_logits=True
    )
    model = Transformer(args).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.4)
    reference = Transformer(args).eval()
    reference.load_state_dict(model.state_dict())
    for layer, window in zip(reference.layers, window_of_layers, strict=True):
        if window:
            layer.attention.SDPA = Windowed(window)
    return model, reference


class Windowed(nn.Module):
    """Attention of all positions, as the model's mask says, to the last `window` ones and the first `sink` ones."""

    def __init__(self, window, sink=0):
        super().__init__()
        self.window, self.sink = window, sink

    def forward(self, input_pos, q, k, v, bsz, seqlen, mask):
        positions = torch.arange(mask.shape[-1])
        far = input_pos[0] + torch.arange(seqlen)[:, None] - positions >= self.window
        far &= positions >= self.sink
        attended = F.scaled_dot_product_attention(q, k, v, mask.masked_fill(far, float("-inf")), enable_gqa=True)
        return attended.transpose(1, 2).reshape(bsz, seqlen, -1)


def chunks(tokens, sizes):
    start = 0
    for size in sizes:
        yield tokens[:, start : start + size], torch.tensor([start])
        start += size


SIZES = (3, 4, 1, 1, 5, 1, 4, 1)


@pytest.mark.parametrize("custom", ["torch", "cache first", "ring first"])
@pytest.mark.parametrize("pattern", [[WINDOW], [0, WINDOW]])
def test_a_window_of_positions_is_attended_whatever_the_ring_holds(custom, pattern):
    windows = pattern * (2 // len(pattern))
    model, reference = decoder(windows)
    if custom == "cache first":
        replace_sdpa_with_custom_op(replace_kv_cache_with_custom_kv_cache(model))
    replace_kv_cache_with_ring_kv_cache(model, pattern)
    if custom == "ring first":
        for layer in model.layers:
            replace_sdpa_with_custom_op(layer.attention)
        replace_kv_cache_with_custom_kv_cache(model)
    ring = RingKVCache if custom == "torch" else CustomRingKVCache
    assert [isinstance(layer.attention.kv_cache, ring) for layer in model.layers] == [bool(w) for w in windows]
    tokens = torch.randint(30, (1, sum(SIZES)))
    for _ in range(2):  # position 0 starts anew
        for part, start in chunks(tokens, SIZES):
            options = {"input_pos": start}
            with torch.no_grad():
                torch.testing.assert_close(model(part, options), reference(part, options), **LAYERS)


def lowered(model):
    count = torch.export.Dim("count", min=1, max=2 * WINDOW)
    example = (torch.zeros(1, 3, dtype=torch.long), {"input_pos": torch.tensor([2])})
    exported = torch.export.export(model, example, dynamic_shapes=({1: count}, {"input_pos": None}))
    buffer = to_edge(exported).to_executorch(ExecutorchBackendConfig(check_target=False)).buffer
    return Runtime.get().load_program(buffer).load_method("forward")


@pytest.mark.parametrize("sink", [0, 2])
@pytest.mark.parametrize("custom", [False, True])
def test_the_first_positions_stay_in_a_cache_with_a_sink(custom, sink):
    model, reference = decoder([0, 0])
    for layer in reference.layers:
        layer.attention.SDPA = Windowed(WINDOW, sink)
    if custom:
        replace_sdpa_with_custom_op(replace_kv_cache_with_custom_kv_cache(model))
    enable_attention_sink(model, model.params, sink, WINDOW)
    assert model.layers[0].attention.kv_cache.max_context_length == sink + 2 * WINDOW
    tokens = torch.randint(30, (1, sum(SIZES)))
    for part, start in chunks(tokens, SIZES):
        options = {"input_pos": start}
        with torch.no_grad():
            torch.testing.assert_close(model(part, options), reference(part, options), **LAYERS)


def greedy(logits_of, prompt, steps):
    """Tokens after a prompt, which is read in chunks of the window."""
    tokens, read = list(prompt), 0
    while len(tokens) < len(prompt) + steps:
        while read < len(tokens):
            chunk = tokens[read : read + WINDOW]
            logits = logits_of(torch.tensor([chunk]), torch.tensor([read]))
            read += len(chunk)
        tokens.append(int(logits[0, -1].argmax()))
    return tokens[len(prompt) :]


@pytest.mark.sampled
@pytest.mark.parametrize("sink", [0, 2])
def test_256_greedy_tokens_in_a_ring_are_those_of_attention_to_the_same_positions(sink):
    model, reference = decoder([0, 0], context=300)
    for layer in reference.layers:
        layer.attention.SDPA = Windowed(WINDOW, sink)
    replace_sdpa_with_custom_op(replace_kv_cache_with_custom_kv_cache(model))
    enable_attention_sink(model, model.params, sink, WINDOW)
    method = lowered(model)
    prompt = torch.randint(30, (11,)).tolist()
    with torch.no_grad():
        expected = greedy(lambda part, start: reference(part, {"input_pos": start}), prompt, 256)
    assert len(set(expected)) > 4
    assert greedy(lambda part, start: method.execute([part, start])[0], prompt, 256) == expected


def test_a_quantized_cache_gives_nearly_the_logits_of_a_float_cache():
    model, reference = decoder([0, 0])
    replace_sdpa_with_quantized_sdpa(replace_kv_cache_with_quantized_kv_cache(model))
    method = lowered(model)
    tokens = torch.randint(30, (1, sum(SIZES)))
    for part, start in chunks(tokens, SIZES):
        options = {"input_pos": start}
        with torch.no_grad():
            eager, exact = model(part, options), reference(part, options)
        torch.testing.assert_close(method.execute([part, start])[0], eager, **MODEL)
        assert float((eager - exact).norm() / exact.norm()) < INT8_CACHE


@pytest.mark.parametrize("kind", [QuantizedCacheType.AffineSymmetric, QuantizedCacheType.AffineAsymmetric])
@pytest.mark.parametrize("indices", [None, torch.tensor([[4, 0, 2]])])
def test_a_quantized_cache_keeps_values_to_half_a_step(kind, indices):
    cache, values = QuantizedKVCache(1, 6, 2, 8, kind), torch.randn(1, 2, 3, 8)
    keys, _ = cache.update(torch.tensor([1]), values, values, indices)
    slots = [1, 2, 3] if indices is None else indices[0].tolist()
    assert keys.dtype == torch.float32
    assert torch.equal(keys[:, :, slots], values), "a call reads the values that it writes as they are"
    last = torch.randn(1, 2, 1, 8)
    keys, _ = cache.update(torch.tensor([5]), last, last)
    scales = cache.k_cache_scales.transpose(1, 2)[:, :, slots]
    assert torch.equal(keys[:, :, [5]], last)
    assert bool(((keys[:, :, slots] - values).abs() <= 0.51 * scales).all())
    is_symmetric = kind is QuantizedCacheType.AffineSymmetric
    assert bool((cache.k_cache_zero_points == 0).all()) == is_symmetric
    cache.return_float_values = False
    assert cache.update(torch.tensor([1]), values, values, indices)[0].dtype == torch.int8


def test_a_quantized_cache_alone_serves_attention_in_float():
    model, reference = decoder([0, 0])
    replace_kv_cache_with_quantized_kv_cache(model)
    method = lowered(model)
    tokens = torch.randint(30, (1, sum(SIZES)))
    for part, start in chunks(tokens, SIZES):
        with torch.no_grad():
            found, exact = model(part, {"input_pos": start}), reference(part, {"input_pos": start})
        torch.testing.assert_close(method.execute([part, start])[0], found, **MODEL)
        assert float((found - exact).norm() / exact.norm()) < INT8_CACHE


def test_the_custom_operator_attends_by_the_mask_of_the_model():
    model, reference = decoder([0, 0])
    replace_sdpa_with_custom_op(replace_kv_cache_with_custom_kv_cache(model), use_attention_mask=True)
    assert model.needs_mask
    tokens = torch.randint(30, (1, sum(SIZES)))
    for part, start in chunks(tokens, SIZES):
        options = {"input_pos": start}
        with torch.no_grad():
            torch.testing.assert_close(model(part, options), reference(part, options), **LAYERS)


def attention_operands(start, count):
    """Position, queries of 4 heads, a cache of 2 heads, and the mask of the keys that each query may read."""
    position, queries = torch.tensor([start]), torch.randn(1, 4, count, 8)
    keys, values = torch.randn(2, 1, 2, CONTEXT, 8)
    mask = torch.arange(CONTEXT) <= start + torch.arange(count)[:, None]
    return position, queries, keys, values, torch.where(mask, 0.0, -torch.inf)


@pytest.mark.parametrize("start, count", [(0, 3), (7, 1), (7, 5)])
@pytest.mark.parametrize("use_attention_mask", [False, True])
def test_custom_attention_made_as_in_executorch_1_4_is_that_of_the_mask(start, count, use_attention_mask):
    *operands, mask = attention_operands(start, count)
    expected = SDPA(32, 8, 2, CONTEXT)(*operands, 1, count, mask)
    custom = SDPACustom(32, use_attention_mask)
    torch.testing.assert_close(custom(*operands, 1, count, mask if use_attention_mask else None), expected, **LAYERS)


@pytest.mark.parametrize("use_attention_mask", [False, True])
def test_quantized_attention_made_as_in_executorch_1_4_is_that_of_the_mask(use_attention_mask):
    position, queries, keys, values, mask = attention_operands(7, 5)
    cache = QuantizedKVCache(1, CONTEXT, 2, 8, QuantizedCacheType.AffineAsymmetric, True)
    cache.return_float_values = False
    quantized = cache.update(torch.tensor([0]), keys, values)
    expected = SDPA(32, 8, 2, CONTEXT)(position, queries, keys, values, 1, 5, mask)
    attended = QuantizedSDPA(32, cache, use_attention_mask)(position, queries, *quantized, 1, 5, mask)
    assert float((attended - expected).norm() / expected.norm()) < INT8_CACHE


def test_attention_by_a_mask_without_one_is_refused():
    *operands, _ = attention_operands(0, 1)
    with pytest.raises(ValueError, match="SDPACustom was made with use_attention_mask=True and called without a mask"):
        SDPACustom(32, use_attention_mask=True)(*operands, 1, 1, None)


def test_other_quantized_caches_are_refused():
    with pytest.raises(ValueError, match="cache_type: expected AffineSymmetric or AffineAsymmetric"):
        QuantizedKVCache(1, 6, 2, 8, QuantizedCacheType.AffineSymmetricGroupWise)
    with pytest.raises(TypeError, match="expected a cache of all positions"):
        QuantizedKVCache.from_float(CustomRingKVCache(1, WINDOW, 2, 8))


def test_a_lowered_decoder_attends_to_its_windows():
    model, reference = decoder([WINDOW, WINDOW])
    replace_kv_cache_with_ring_kv_cache(
        replace_sdpa_with_custom_op(replace_kv_cache_with_custom_kv_cache(model)), [WINDOW]
    )
    method = lowered(model)
    tokens = torch.randint(30, (1, sum(SIZES)))
    for part, start in chunks(tokens, SIZES):
        actual = method.execute([part, start])[0]
        torch.testing.assert_close(actual, reference(part, {"input_pos": start}), **LAYERS)


def test_slots_hold_the_positions_that_were_written_last():
    manager = CachePositionsManager(4)
    assert manager.calculate_positions_and_update_indices(torch.tensor([0]), 2).tolist() == [0, 1]
    assert manager.cache_positions.tolist() == [0, 1, -1, -1]
    assert manager.calculate_positions_and_update_indices(torch.tensor([2]), 3).tolist() == [2, 3, 0]
    assert manager.cache_positions.tolist() == [4, 1, 2, 3]


@pytest.mark.parametrize("cache", [RingKVCache, CustomRingKVCache])
def test_an_update_larger_than_the_ring_is_refused(cache):
    values = torch.zeros(1, 2, 2 * WINDOW + 1, 8)
    with pytest.raises(ValueError, match="expected at most 8 positions, which the ring holds; found 9"):
        cache(1, WINDOW, 2, 8).update(torch.tensor([0]), values, values)


def test_a_custom_cache_writes_at_given_slots():
    cache = CustomKVCache(1, 6, 2, 8)
    values = torch.randn(1, 2, 3, 8)
    keys, _ = cache.update(torch.tensor([0]), values, values, torch.tensor([[4, -1, 0]]))
    torch.testing.assert_close(keys[:, :, 4], values[:, :, 0])
    torch.testing.assert_close(keys[:, :, 0], values[:, :, 2])
    assert not keys[:, :, [1, 2, 3, 5]].any()


def test_a_ring_is_made_from_another_cache():
    ring = CustomRingKVCache.from_custom_kv_cache(KVCache(2, 100, 3, 8, dtype=torch.float16), WINDOW)
    assert (ring.k_cache.shape, ring.k_cache.dtype) == ((2, 2 * WINDOW, 3, 8), torch.float16)


def test_a_pattern_that_does_not_fit_the_layers_is_refused():
    with pytest.raises(ValueError, match="divides the 2 layers, found 3"):
        replace_kv_cache_with_ring_kv_cache(decoder([0, 0])[0], [1, 2, 3])
