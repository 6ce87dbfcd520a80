# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Our decomposition of attention matches eager, without a safe softmax over the scores."""

import pytest
import torch
from oracle.tolerances import DROPPED_MEANS, FEW_ROUNDINGS
from torch.export import export

from executorch.exir import to_edge
from executorch.runtime import Runtime

Q, K, V = torch.randn(2, 4, 5, 8), torch.randn(2, 4, 6, 8), torch.randn(2, 4, 6, 3)
MASK = torch.rand(2, 1, 5, 6) > 0.4
MASK[0, 0, 2] = False  # a query that sees no key
CASES = {
    "plain": ((Q, K, V), {}),
    "scaled": ((Q, K, V), {"scale": 0.3}),
    "causal": ((Q, K[:, :, :5], V[:, :, :5]), {"is_causal": True}),
    "causal, more keys": ((Q, K, V), {"is_causal": True}),
    "bool mask": ((Q, K, V, MASK), {}),
    "float mask": ((Q, K, V, torch.zeros(5, 6).masked_fill(torch.rand(5, 6) > 0.7, -1e4)), {}),
    "float mask with hidden rows": ((Q, K, V, torch.zeros(2, 1, 5, 6).masked_fill(~MASK, float("-inf"))), {}),
    "grouped heads": ((Q, K[:, :2], V[:, :2]), {"enable_gqa": True}),
    "three dimensions": ((Q[0], K[0], V[0]), {}),
}


class Attention(torch.nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.options = options

    def forward(self, *inputs):
        return torch.nn.functional.scaled_dot_product_attention(*inputs, **self.options)


@pytest.mark.parametrize("name", CASES)
def test_attention_matches_eager(name):
    inputs, options = CASES[name]
    program = to_edge(export(Attention(**options), inputs)).exported_program()
    output = program.module()(*inputs)
    torch.testing.assert_close(output, Attention(**options)(*inputs), **FEW_ROUNDINGS)
    assert not output.isnan().any()


@pytest.mark.parametrize(("name", "allowed"), [("plain", ()), ("causal", ("where.self",)), ("bool mask", ("any.dim",))])
def test_visibility_is_computed_from_the_mask_and_not_from_scores(name, allowed):
    inputs, options = CASES[name]
    program = to_edge(export(Attention(**options), inputs)).exported_program()
    called = [node for node in program.graph.nodes if node.op == "call_function"]
    names = [str(node.target) for node in called]
    for operator in ("aten.where.self", "aten.any.dim", "aten.eq.Scalar", "aten.logical_not.default"):
        if not any(operator.endswith(one) for one in allowed) and not (allowed and "where" in operator):
            assert operator not in names
    scores = (2, 4, 5, inputs[1].shape[2])
    assert not [n for n in called if "any" in str(n.target) and n.args[0].meta["val"].shape == scores]


def test_attention_of_a_model_in_training_mode_drops_weights_as_eager_does():
    with pytest.warns(UserWarning, match="drops elements at random"):
        edge = to_edge(export(Attention(dropout_p=0.5), (Q, K, V, MASK)))
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    found = torch.stack([method.execute([Q, K, V, MASK])[0] for _ in range(400)])
    assert len({result.sum().item() for result in found}) > 1
    expected = Attention()(Q, K, V, MASK)
    torch.testing.assert_close(found.mean(0), expected, **DROPPED_MEANS)
    assert not found[:, 0, :, 2].any()  # the query that sees no key
