# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace operators of several results by forms with one result if only one is read."""

from __future__ import annotations

import operator
from typing import Any

from torch import fx
from torch.fx import Node
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.dialects._ops import ops
from executorch.exir.pass_base import ExportPass
from executorch.exir.rewrite.node_rewrite import insert_before

_aten: Any = ops.edge.aten
_WITH_ONE_RESULT = {
    _aten.max_pool2d_with_indices.default: _aten.max_pool2d.default,
    _aten.max.dim: _aten.amax.default,
}


class RemoveGetItemPass(ExportPass):
    """Replaces `max_pool2d_with_indices` by `max_pool2d`, and `max.dim` whose indices nothing reads by `amax`.

    Raises AssertionError if the indices of a pooling are read, or only the indices of a maximum.
    """

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        for node in list(graph_module.graph.nodes):
            if node.op == "call_function" and node.target in _WITH_ONE_RESULT:
                _replace(node)
        graph_module.recompile()
        return super().call(graph_module)


def _replace(node: Node) -> None:
    users = list(node.users)
    if len(users) == 2 and node.target is _aten.max.dim:
        return
    if len(users) != 1 or users[0].target is not operator.getitem or users[0].args[1] != 0:
        readers = ", ".join(f"{user.name} (item {user.args[1:]})" for user in users)
        raise AssertionError(f"{node.name} ({node.target}): expected one reader, of item 0; found {readers or 'none'}")
    replacement = insert_before(node, _WITH_ONE_RESULT[node.target], node.args, dict(node.kwargs), node.meta["val"][0])
    replacement.meta = {**node.meta, **replacement.meta}
    users[0].replace_all_uses_with(replacement)
    node.graph.erase_node(users[0])
    node.graph.erase_node(node)
