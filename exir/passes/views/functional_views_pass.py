# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace views by copies (`view` → `view_copy`): the Edge dialect has no aliases.

`ReplaceViewCopyWithViewPass` turns copies back into views.
"""

from __future__ import annotations

import torch
from torch import fx
from torch._ops import OpOverload
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.graph_module import all_graph_modules
from executorch.exir.operator.convert import is_view, to_copy_variant
from executorch.exir.passes.graph_pass import GraphPass
from executorch.exir.rewrite.fake_values import refresh_values
from executorch.exir.rewrite.node_rewrite import replace_by, retarget
from executorch.exir.tensor import contiguous_stride_from_shape

_aten = torch.ops.aten

# Views of the whole tensor: no-ops for an ahead-of-time compiler.
_IDENTITIES = (_aten.alias.default, _aten.detach.default, _aten.lift_fresh.default, _aten.lift_fresh_copy.default)
# Views that the schema does not declare, and synonyms → the copying operator.
_SPECIAL = {
    _aten._unsafe_view.default: _aten.view_copy.default,
    _aten._reshape_alias.default: _aten.view_copy.default,
    _aten.reshape.default: _aten.view_copy.default,
}


class FunctionalViewsPass(GraphPass):
    """Replaces every view by its copying operator, and removes no-op views."""

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            changed: set[fx.Node] = set()
            for node in list(module.graph.nodes):
                if node.op != "call_function" or not isinstance(node.target, OpOverload):
                    continue
                if node.target in _IDENTITIES:
                    replace_by(node, node.args[0])
                    modified = True
                    continue
                copying = _SPECIAL.get(node.target) or (to_copy_variant(node.target) if is_view(node.target) else None)
                if copying is not None:
                    retarget(node, copying, node.args[:2] if node.target in _SPECIAL else node.args)
                    modified = True
                    if not _has_layout_of_copy(node.meta.get("val")):
                        changed.add(node)
            if changed:
                refresh_values(module, changed)
        return PassResult(graph_module, modified)


def _has_layout_of_copy(value: object) -> bool:
    """Return whether a view has the layout that its copy has: then its value needs no fake dispatch to be known."""
    if not isinstance(value, torch.Tensor) or value.is_conj() or value.is_neg():
        return False
    contiguous = contiguous_stride_from_shape(list(value.shape))
    return [str(step) for step in value.stride()] == [str(step) for step in contiguous]
