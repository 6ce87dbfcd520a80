# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The operators of language models: the runtime's kernels against PyTorch's attention."""

import pytest
import torch
import torch.nn.functional as F
from oracle.tolerances import ATTENTION, CACHED_ATTENTION, MASKED_ATTENTION

from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401  # defines the operators
from executorch.runtime import Runtime
from executorch.runtime.errors import InvalidArgumentError

LLAMA = torch.ops.llama
CAPACITY = 160


def lower(module, inputs, dynamic_shapes=None):
    exported = torch.export.export(module, inputs, dynamic_shapes=dynamic_shapes)
    buffer = to_edge(exported).to_executorch(ExecutorchBackendConfig(check_target=False)).buffer
    return Runtime.get().load_program(buffer).load_method("forward")


class Operator(torch.nn.Module):
    """A call of an operator whose argument `start_pos` is read from a tensor."""

    def __init__(self, call):
        super().__init__()
        self.call = call

    def forward(self, position, *tensors):
        start = position[0].item()
        torch._check(start >= 0)
        torch._check(start < CAPACITY)
        return self.call(start, *tensors)


class Cache(torch.nn.Module):
    """A cache, attention over it, and the operators that write it."""

    def __init__(self, heads, channels, fused):
        super().__init__()
        self.fused = fused
        self.register_buffer("k", torch.zeros(1, CAPACITY, heads, channels))
        self.register_buffer("v", torch.zeros(1, CAPACITY, heads, channels))

    def forward(self, position, q, k, v):
        start = position[0].item()
        torch._check(start >= 0)
        torch._check(start < CAPACITY)
        if self.fused:
            return LLAMA.sdpa_with_kv_cache(q, k, v, self.k, self.v, start, q.shape[1], None, 0.0, True)
        LLAMA.update_cache(k, self.k, start)
        LLAMA.update_cache(v, self.v, start)
        return LLAMA.custom_sdpa(q, self.k, self.v, start, None, 0.0, True)


def oracle(q, k, v, mask=None, scale=None):
    """PyTorch's attention of [batch, positions, heads, channels], in float64."""
    q, k, v = (operand.double().transpose(1, 2) for operand in (q, k, v))
    mask = mask if mask is None or mask.dtype is torch.bool else mask.double()
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale, enable_gqa=True).transpose(1, 2)


def causal(queries, start):
    return torch.ones(queries, start + queries, dtype=torch.bool).tril(start)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize(("heads", "key_heads", "channels"), [(4, 2, 8), (3, 3, 64), (8, 1, 13)])
def test_a_cache_is_written_in_place_and_attended(fused, heads, key_heads, channels):
    torch.manual_seed(0)
    count = torch.export.Dim("count", min=1, max=CAPACITY - 1)
    example = (torch.tensor([2]), *(torch.randn(1, 3, n, channels) for n in (heads, key_heads, key_heads)))
    shapes = {"position": None, **{name: {1: count} for name in "qkv"}}
    method = lower(Cache(key_heads, channels, fused), example, shapes)
    everything = [torch.randn(1, CAPACITY, n, channels) for n in (heads, key_heads, key_heads)]
    start = 0
    for queries in (1, 3, 70, 1, 1, 80):
        q, k, v = (operand[:, start : start + queries] for operand in everything)
        output = method.execute((torch.tensor([start]), q, k, v))[0]
        until = [operand[:, : start + queries] for operand in everything[1:]]
        torch.testing.assert_close(output.double(), oracle(q, *until, causal(queries, start)), **ATTENTION)
        start += queries


@pytest.mark.sampled
@pytest.mark.parametrize("queries", [1, 5, 90])
@pytest.mark.parametrize("dtype", MASKED_ATTENTION)
def test_masks_and_scales_of_every_dtype(queries, dtype):
    torch.manual_seed(1)
    q = torch.randn(2, queries, 6, 32).to(dtype)
    k, v = (torch.randn(2, CAPACITY, 2, 32).to(dtype) for _ in range(2))
    mask = torch.randn(queries, CAPACITY)
    mask[:, 64:128] = -torch.inf  # a whole block of keys that nobody sees
    call = Operator(lambda start, *given: LLAMA.custom_sdpa(*given[:3], start, given[3], 0.0, False, 0.3))
    method = lower(call, (torch.tensor([2]), q, k, v, mask))
    output = method.execute((torch.tensor([7]), q, k, v, mask))[0]
    assert output.dtype is dtype
    torch.testing.assert_close(output.double(), oracle(q, k, v, mask, 0.3), **MASKED_ATTENTION[dtype])


class ReducedCache(torch.nn.Module):
    """Caches of 16 bits for float32, and attention over them; `slots` are of a ring."""

    def __init__(self, dtype, is_ring):
        super().__init__()
        self.is_ring = is_ring
        self.register_buffer("k", torch.zeros(1, CAPACITY, 2, 32, dtype=dtype))
        self.register_buffer("v", torch.zeros(1, CAPACITY, 2, 32, dtype=dtype))

    def forward(self, position, q, k, v, slots, mask):
        start = position[0].item()
        torch._check(start >= 0)
        torch._check(start < CAPACITY)
        if self.is_ring:
            LLAMA.update_cache_with_indices(k, self.k, start, slots)
            LLAMA.update_cache_with_indices(v, self.v, start, slots)
            return LLAMA.custom_sdpa(q, self.k, self.v, 0, mask)
        return LLAMA.sdpa_with_kv_cache(q, k, v, self.k, self.v, start, q.shape[1], None, 0.0, True)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("is_ring", [False, True])
@pytest.mark.parametrize("queries", [1, 9])
def test_float32_is_attended_over_caches_of_16_bits(dtype, is_ring, queries):
    torch.manual_seed(3)
    start = CAPACITY - queries
    q, k, v = (torch.randn(1, CAPACITY, heads, 32) for heads in (6, 2, 2))
    slots = torch.randperm(CAPACITY)
    mask = torch.full((queries, CAPACITY), -torch.inf)
    for i in range(queries):
        mask[i, slots[: start + i + 1]] = 0

    def inputs(first, last):
        at = torch.tensor([first])
        return at, q[:, first:last], k[:, first:last], v[:, first:last], slots[None, first:last], mask[: last - first]

    module = ReducedCache(dtype, is_ring)
    count = torch.export.Dim("count", min=1, max=CAPACITY - 1)
    shapes = (None, {1: count}, {1: count}, {1: count}, {1: count}, {0: count})
    example = (torch.tensor([2]), *(torch.zeros(1, 3, heads, 32) for heads in (6, 2, 2)))
    example += (torch.zeros(1, 3, dtype=torch.long), torch.zeros(3, CAPACITY))
    method = lower(module, example, shapes)
    for first in range(0, start, queries):
        method.execute(inputs(first, min(first + queries, start)))
    found = method.execute(inputs(start, CAPACITY))[0]
    expected = oracle(q[:, start:], k.to(dtype), v.to(dtype), causal(queries, start))
    assert found.dtype is torch.float32
    torch.testing.assert_close(found.double(), expected, **CACHED_ATTENTION)
    module(*inputs(0, start)[:-1], torch.zeros(start, CAPACITY))
    torch.testing.assert_close(module(*inputs(start, CAPACITY)), found, **CACHED_ATTENTION)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda q, k, h: LLAMA.custom_sdpa(h, k, k, 0), "key: expected torch.float16, as query, found torch.float32"),
        (lambda q, k, h: LLAMA.custom_sdpa(q, h, k, 0), "value: expected torch.float16, as key, found torch.float32"),
        (lambda q, k, h: LLAMA.custom_sdpa(q, k.double(), k, 0), "key: expected torch.float32, as query, float16 or"),
        (lambda q, k, h: LLAMA.update_cache(h, k, 0), "cache: expected torch.float16, as value, found torch.float32"),
        (lambda q, k, h: LLAMA.update_cache(k, k.char(), 0), "cache: expected torch.float32, as value, float16 or"),
        (
            lambda q, k, h: LLAMA.update_cache_with_indices(h, k, 0, torch.zeros(1, 4, dtype=torch.long)),
            "cache: expected torch.float16, as value, found torch.float32",
        ),
    ],
)
def test_dtypes_that_do_not_fit_are_named(call, message):
    tensors = torch.randn(1, 4, 2, 8), torch.randn(1, 4, 2, 8), torch.randn(1, 4, 2, 8).half()
    with pytest.raises(ValueError, match=message):
        call(*tensors)
    fakes = torch._subclasses.FakeTensorMode()
    with fakes, pytest.raises(ValueError, match=message):
        call(*(fakes.from_tensor(tensor) for tensor in tensors))


def test_a_query_that_sees_no_key_gives_zeros():
    q, k = torch.randn(1, 2, 2, 16), torch.randn(1, CAPACITY, 2, 16)
    mask = torch.zeros(2, CAPACITY)
    mask[1] = -torch.inf
    call = Operator(lambda start, *given: LLAMA.custom_sdpa(*given[:3], start, given[3]))
    inputs = (torch.tensor([0]), q, k, k.clone(), mask)
    output = lower(call, inputs).execute(inputs)[0]
    assert torch.equal(output[0, 1], torch.zeros(2, 16))
    assert output[0, 0].abs().max() > 0


@pytest.mark.parametrize("heads_first", [False, True])
def test_quantized_attention_equals_attention_of_dequantized_numbers(heads_first):
    torch.manual_seed(2)

    def quantized(positions, heads):
        shape = (1, heads, positions, 32) if heads_first else (1, positions, heads, 32)
        data = torch.randint(-128, 128, shape, dtype=torch.int8)
        rows = (*shape[:3], 1)
        return data, torch.randint(-20, 20, rows, dtype=torch.int8), torch.rand(rows) / 50

    (q, *q_parameters), (k, *k_parameters), (v, *v_parameters) = (
        quantized(3, 4), quantized(CAPACITY, 2), quantized(CAPACITY, 2)
    )  # fmt: skip
    parameters = (*q_parameters, *k_parameters, *v_parameters)

    def call(start, *given):
        return LLAMA.custom_quantized_sdpa(*given[:3], start, None, 0.0, True, None, *given[3:], heads_first)

    inputs = (torch.tensor([90]), q, k, v, *parameters)
    found = lower(Operator(call), inputs).execute(inputs)[0]
    dequantized = [
        (d.float() - z.float()) * s for d, (z, s) in ((q, q_parameters), (k, k_parameters), (v, v_parameters))
    ]
    if heads_first:
        dequantized = [tensor.transpose(1, 2) for tensor in dequantized]
    expected = oracle(dequantized[0], *(tensor[:, :93] for tensor in dequantized[1:]), causal(3, 90))
    expected = expected.transpose(1, 2) if heads_first else expected
    torch.testing.assert_close(found.double(), expected, **CACHED_ATTENTION)
    torch.testing.assert_close(found, call(90, q, k, v, *parameters), **CACHED_ATTENTION)


def test_indices_say_where_values_are_written_and_minus_one_skips():
    class Ring(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("cache", torch.zeros(2, 8, 1, 4))

        def forward(self, value, indices):
            LLAMA.update_cache_with_indices(value, self.cache, 0, indices)
            return self.cache + 0

    value = torch.randn(2, 3, 1, 4)
    indices = torch.tensor([[7, -1, 0], [1, 2, 3]])
    method = lower(Ring(), (value, indices))
    found = method.execute((value, indices))[0]
    expected = torch.zeros(2, 8, 1, 4)
    expected[0, 7], expected[0, 0], expected[1, 1:4] = value[0, 0], value[0, 2], value[1]
    assert torch.equal(found, expected)
    assert torch.equal(Ring()(value, indices), expected)
    with pytest.raises(InvalidArgumentError, match="expected -1 or a position below 8, found 8"):
        method.execute((value, torch.tensor([[7, -1, 8], [1, 2, 3]])))
    assert torch.equal(method.execute((value, torch.full((2, 3), -1)))[0], expected)


def test_positions_beyond_the_cache_are_refused_and_the_method_runs_again():
    q, k = torch.randn(1, 3, 2, 8), torch.randn(1, 3, 2, 8)
    method = lower(Cache(2, 8, False), (torch.tensor([2]), q, k, k.clone()))
    with pytest.raises(InvalidArgumentError, match=f"158 and 3 positions after it do not fit a cache of {CAPACITY}"):
        method.execute((torch.tensor([158]), q, k, k))
    output = method.execute((torch.tensor([0]), q, k, k))[0]
    torch.testing.assert_close(output.double(), oracle(q, k, k, causal(3, 0)), **ATTENTION)


def test_the_hadamard_transform_is_orthonormal():
    x = torch.randn(5, 3, 128)

    class Transform(torch.nn.Module):
        def forward(self, x):
            return LLAMA.fast_hadamard_transform(x)

    output = lower(Transform(), (x,)).execute((x,))[0]
    matrix = torch.ones(1, 1)
    while len(matrix) < 128:
        matrix = torch.cat((torch.cat((matrix, matrix), 1), torch.cat((matrix, -matrix), 1)))
    torch.testing.assert_close(output, x @ matrix / 128**0.5)
    torch.testing.assert_close(LLAMA.fast_hadamard_transform(x), output)
    with pytest.raises(ValueError, match="power of two"):
        LLAMA.fast_hadamard_transform(torch.randn(3, 12))


def delta_operands(batch, heads, positions, keys, values, channelwise):
    decay = torch.rand(batch, heads, positions, keys) if channelwise else torch.rand(batch, heads, positions)
    query, key = torch.randn(2, batch, heads, positions, keys).unbind()
    query, key = query * keys**-0.5, F.normalize(key, dim=-1)
    value, beta = torch.randn(batch, heads, positions, values), torch.rand(batch, heads, positions)
    return query, key, value, decay, beta, torch.randn(batch, heads, keys, values)


def delta_rule(query, key, value, decay, beta, state):
    """The recurrence by matrices, for one head after the other in float64."""
    outs, states = [], []
    for q, k, v, d, b, s in zip(
        *(x.double().flatten(0, 1) for x in (query, key, value, decay, beta, state)), strict=True
    ):
        rows = []
        for i in range(len(q)):
            s = (torch.diag(d[i]) if d.dim() == 2 else d[i] * torch.eye(len(s), dtype=s.dtype)) @ s
            s = s + b[i] * torch.outer(k[i], v[i] - k[i] @ s)
            rows.append(q[i] @ s)
        outs.append(torch.stack(rows) if rows else v)
        states.append(s)
    return torch.stack(outs).reshape(value.shape), torch.stack(states).reshape(state.shape)


@pytest.mark.parametrize("channelwise", [False, True])
@pytest.mark.parametrize(
    "sizes", [(1, 2, 1, 8, 8), (2, 3, 13, 20, 37), (1, 2, 70, 128, 128), (1, 2, 0, 4, 5), (1, 2, 3, 4, 0)]
)
def test_the_delta_rule_updates_a_state_for_each_position(sizes, channelwise):
    torch.manual_seed(0)
    operands = delta_operands(*sizes, channelwise)
    names = ["gated_delta_rule", "channelwise_gated_delta_rule"][: 1 + channelwise]
    expected = delta_rule(*operands)
    for name in names:
        operator = getattr(LLAMA, name)

        class Rule(torch.nn.Module):
            def forward(self, *tensors, operator=operator):
                return operator(*tensors)

        method = lower(Rule(), operands)
        for found in (operator(*operands), method.execute(operands)):
            for tensor, exact in zip(found, expected, strict=True):
                torch.testing.assert_close(tensor.double(), exact, **ATTENTION)


def test_the_delta_rule_continues_from_its_state():
    """The same operands in two parts, as a prompt in chunks."""
    *operands, state = delta_operands(2, 3, 9, 16, 24, True)
    whole, last = LLAMA.gated_delta_rule(*operands, state)
    first, state = LLAMA.gated_delta_rule(*(x[:, :, :4].contiguous() for x in operands), state)
    second, state = LLAMA.gated_delta_rule(*(x[:, :, 4:].contiguous() for x in operands), state)
    torch.testing.assert_close(torch.cat((first, second), 2), whole)
    torch.testing.assert_close(state, last)


@pytest.mark.parametrize(
    ("place", "change", "message"),
    [
        (0, lambda x: x.double(), "query: expected float32"),
        (1, lambda x: x[:, :, :2], "key: expected"),
        (2, lambda x: x[0], "value: expected 4 dimensions"),
        (3, lambda x: x[..., :1], "decay: expected"),
        (4, lambda x: x[:, :1], "beta: expected"),
        (5, lambda x: x.transpose(2, 3), "initial_state: expected"),
    ],
)
def test_operands_of_the_delta_rule_that_do_not_fit_are_named(place, change, message):
    operands = list(delta_operands(1, 2, 3, 4, 5, True))
    operands[place] = change(operands[place])
    with pytest.raises(ValueError, match=message):
        LLAMA.gated_delta_rule(*operands)
    with pytest.raises(ValueError, match="decay: expected 4 dimensions"):
        LLAMA.channelwise_gated_delta_rule(*delta_operands(1, 2, 3, 4, 5, False))


def test_the_cross_attention_cache_keeps_its_later_positions():
    value, cache = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 8, 4)

    class Branches(torch.nn.Module):
        def forward(self, v, c):
            return torch.ops.executorch.update_cross_attn_cache(v, c), *torch.ops.executorch.alias(v, c)

    joined, first, second = lower(Branches(), (value, cache)).execute((value, cache))
    assert torch.equal(joined, torch.cat((value, cache[:, :, 3:]), 2))
    assert torch.equal(first, value)
    assert torch.equal(second, cache)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda q, k: LLAMA.custom_sdpa(q, k, k, 14, None, 0.0, True), "do not fit a cache of 16"),
        (lambda q, k: LLAMA.custom_sdpa(q, k, k, 0, torch.zeros(3, 16), 0.0, True), "exclude each other"),
        (lambda q, k: LLAMA.custom_sdpa(q, k, k, 0, torch.zeros(3, 15)), "attn_mask: expected"),
        (lambda q, k: LLAMA.update_cache(q, k, 0), None),
        (lambda q, k: LLAMA.custom_quantized_sdpa(q.char(), k, k, 0), "int8 needs scales"),
    ],
)
def test_eager_refuses_what_the_kernels_refuse(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(torch.randn(1, 3, 4, 8), torch.randn(1, 16, 2, 8))
