# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Passes on the ATen graph of a decoder."""

import pytest
import torch
import torch.nn.functional as F
from oracle.tolerances import LAYERS
from torch import nn

from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.extension.llm.export.export_passes import RemoveRedundantTransposes, ReplaceSDPAWithCustomSDPAPass
from executorch.runtime import Runtime

CUSTOM = torch.ops.llama.custom_sdpa.default


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def rewrite(graph_pass, function, inputs, dynamic_shapes=None):
    """The rewritten module, whether it was changed, and its targets."""
    exported = torch.export.export(Function(function), inputs, dynamic_shapes=dynamic_shapes)
    module, changed = graph_pass(exported.module())
    return module, changed, [node.target for node in module.graph.nodes if node.op == "call_function"]


@pytest.mark.parametrize(
    ("function", "left"),
    [
        (lambda x: x.transpose(1, 2).transpose(-1, 1) + 1, 0),
        (lambda x: x.permute(2, 0, 1).permute(1, 2, 0) + 1, 0),
        (lambda x: x.transpose(0, 1).permute(1, 0, 2) + 1, 0),
        (lambda x: x.transpose(0, 1).transpose(1, 2).transpose(1, 2).transpose(0, 1) + 1, 0),
        (lambda x: x.permute(2, 0, 1).permute(2, 0, 1) + 1, 2),
        (lambda x: x.transpose(0, 1).transpose(1, 2) + 1, 2),
        (lambda x: x.transpose(0, 1) + 1, 1),
    ],
)
def test_transposes_are_removed_only_where_they_undo_each_other(function, left):
    x = torch.randn(2, 3, 4)
    module, changed, targets = rewrite(RemoveRedundantTransposes(), function, (x,))
    assert changed == (left == 0)
    assert sum(t in (torch.ops.aten.transpose.int, torch.ops.aten.permute.default) for t in targets) == left
    torch.testing.assert_close(module(x), function(x))


def test_a_transpose_with_other_users_stays_for_them():
    def function(x):
        y = x.transpose(0, 1)
        return y + 1, y.transpose(0, 1) * 2

    x = torch.randn(2, 3)
    module, changed, targets = rewrite(RemoveRedundantTransposes(), function, (x,))
    assert changed
    assert targets.count(torch.ops.aten.transpose.int) == 1
    torch.testing.assert_close(module(x), function(x))


def attention(**settings):
    return lambda q, k, v, mask=None: F.scaled_dot_product_attention(q, k, v, attn_mask=mask, **settings)


def operands(queries=5, keys=5, heads=4, key_heads=4):
    torch.manual_seed(0)
    return (
        torch.randn(1, heads, queries, 8),
        torch.randn(1, key_heads, keys, 8),
        torch.randn(1, key_heads, keys, 8),
    )


MASK = torch.randn(5, 7)


@pytest.mark.parametrize(
    ("settings", "inputs"),
    [
        ({"is_causal": True}, operands()),
        ({"scale": 0.3}, operands()),
        ({"is_causal": True, "enable_gqa": True}, operands(key_heads=2)),
        ({}, (*operands(keys=7), MASK)),
        ({}, (*operands(keys=7), MASK[None, None])),
        ({}, (*operands(keys=7), MASK[None] > -1)),
    ],
)
def test_attention_becomes_the_custom_operator_and_keeps_its_values(settings, inputs):
    function = attention(**settings)
    expected = function(*inputs)
    module, changed, targets = rewrite(ReplaceSDPAWithCustomSDPAPass(), function, inputs)
    assert changed
    assert CUSTOM in targets
    torch.testing.assert_close(module(*inputs), expected)
    exported = torch.export.export(module, inputs)
    buffer = to_edge(exported).to_executorch(ExecutorchBackendConfig(check_target=False)).buffer
    actual = Runtime.get().load_program(buffer).load_method("forward").execute(inputs)[0]
    torch.testing.assert_close(actual, expected, **LAYERS)


@pytest.mark.parametrize(
    ("settings", "inputs"),
    [
        ({}, operands(keys=7)),
        ({"is_causal": True}, tuple(operand[0] for operand in operands())),
        ({}, (*operands(), torch.randn(1, 4, 5, 5))),
        ({}, (*operands(), torch.randn(1, 5))),
    ],
    ids=["more keys than queries", "three dimensions", "a mask for each head", "a mask that is broadcast"],
)
def test_attention_that_the_custom_operator_does_not_compute_stays(settings, inputs):
    _, changed, targets = rewrite(ReplaceSDPAWithCustomSDPAPass(), attention(**settings), inputs)
    assert not changed
    assert CUSTOM not in targets


def test_a_mask_can_be_taken_for_the_causal_one():
    q, k, v = operands()
    module, _, targets = rewrite(
        ReplaceSDPAWithCustomSDPAPass(assume_causal_mask=True), attention(), (q, k, v, MASK[:, :5])
    )
    assert CUSTOM in targets
    torch.testing.assert_close(module(q, k, v, MASK[:, :5]), attention(is_causal=True)(q, k, v))


def test_between_two_custom_attentions_no_transposes_are_left():
    def function(q, k, v):
        once = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True)
        return once.transpose(1, 2)

    inputs = tuple(operand.transpose(1, 2).contiguous() for operand in operands())
    length = torch.export.Dim("length", min=2, max=32)
    module, _, _ = rewrite(
        ReplaceSDPAWithCustomSDPAPass(), function, inputs, {"inputs": tuple({1: length} for _ in inputs)}
    )
    module, changed = RemoveRedundantTransposes()(module)
    assert changed
    assert [n.target for n in module.graph.nodes if n.op == "call_function" and "transpose" in str(n.target)] == []
    torch.testing.assert_close(module(*inputs), function(*inputs))
