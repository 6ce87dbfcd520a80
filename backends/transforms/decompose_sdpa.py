# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decompose `scaled_dot_product_attention`."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch._decomp import get_decompositions
from torch.fx import Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.passes.infra.pass_base import PassResult

from executorch.backends.transforms.dead_code import without_dead_code
from executorch.exir.pass_base import ExportPass
from executorch.exir.rewrite.node_rewrite import argument, origin_of, with_values

_SDPA: Any = torch.ops.aten.scaled_dot_product_attention.default
_DECOMPOSED: Any = [torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default]


class DecomposeScaledDotProductAttention(ExportPass):
    """Replaces every call by matrix products, a softmax and the masking. With `enable_gqa`, heads of key and value are
    repeated to the number of query heads.

    allow_non_fake_inputs: passed to the tracer; views appear in another form if it is False, here or in `call`.
    """

    def __init__(self, allow_non_fake_inputs: bool = True) -> None:
        super().__init__()
        self._allow_non_fake_inputs = allow_non_fake_inputs

    def call(self, graph_module: fx.GraphModule, allow_non_fake_inputs: bool = True) -> PassResult:
        allowed = self._allow_non_fake_inputs and allow_non_fake_inputs
        calls = list(graph_module.graph.find_nodes(op="call_function", target=_SDPA))
        for node in calls:
            self._decompose(node, allowed)
        without_dead_code(graph_module)
        return PassResult(graph_module, bool(calls))

    def _decompose(self, node: Node, allow_non_fake_inputs: bool) -> None:
        tensors = [argument(node, name) for name in ("query", "key", "value", "attn_mask")]
        tensors = [tensor for tensor in tensors if tensor is not None]
        settings = with_values({name: argument(node, name) for name in ("dropout_p", "is_causal", "scale")})
        grouped = with_values(argument(node, "enable_gqa"))

        def attention(query: Any, key: Any, value: Any, *mask: Any) -> Any:
            if query.shape[-3] != key.shape[-3]:
                key, value = (_repeated(query, operand, grouped, node) for operand in (key, value))
            return _SDPA(query, key, value, *mask, **settings)

        table: Any = get_decompositions(_DECOMPOSED)
        traced = make_fx(
            attention,
            decomposition_table=table,
            tracing_mode="fake",
            _allow_non_fake_inputs=allow_non_fake_inputs,
        )(*with_values(tensors))
        node.replace_all_uses_with(_inlined(traced, tensors, node))
        node.graph.erase_node(node)


def _repeated(query: torch.Tensor, heads: torch.Tensor, grouped: bool, node: Node) -> torch.Tensor:
    wanted, given = query.shape[-3], heads.shape[-3]
    if not grouped or wanted % given:
        raise ValueError(
            f"{node.name}: the query has {wanted} heads, key or value {given}; these require enable_gqa=True "
            f"(found {grouped}) and a multiple of {given} query heads"
        )
    return heads.repeat_interleave(wanted // given, dim=-3)


def _inlined(traced: fx.GraphModule, inputs: list[Any], node: Node) -> Node:
    """Copy the traced nodes to before `node`; return the copy of the result."""
    given = iter(inputs)
    copies: dict[Node, Any] = {}
    for inner in traced.graph.nodes:
        if inner.op == "placeholder":
            copies[inner] = next(given)
        elif inner.op == "output":
            result: Any = inner.args[0]
            return copies[result]  # type: ignore[no-any-return]
        else:
            with node.graph.inserting_before(node):
                copied = node.graph.node_copy(inner, lambda operand: copies[operand])
            copied.meta = {
                **origin_of(node),
                "val": inner.meta.get("val"),
                "source_fn_stack": [(copied, copied.target)],
            }
            copies[inner] = copied
    raise AssertionError("a traced graph ends in its output")
