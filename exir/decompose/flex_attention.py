# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace `flex_attention`, a higher-order operator, by the calls that compute it.

    flex_attention(q, k, v, score_mod, (…, mask_mod), scale)      →      softmax(where(mask, score_mod(q k * scale))) v

torch computes it so in eager: `score_mod` and `mask_mod`, graphs of one score, are mapped over all scores.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch._higher_order_ops.flex_attention import math_attention
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import ExportedProgram
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.node import map_arg

from executorch.exir.decompose.call_body import inline_body, own_value
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.pass_base import fake_mode_of
from executorch.exir.rewrite.fake_call import computing_on_fakes
from executorch.exir.rewrite.program_copy import copy_program

_FLEX = torch.ops.higher_order.flex_attention


def without_flex_attention(program: ExportedProgram) -> ExportedProgram:
    """Return the program, or a copy in which such calls are replaced."""
    if not any(_calls(module) for module in all_graph_modules(program.graph_module)):
        return program
    copied = copy_program(program)
    mode = fake_mode_of(copied.graph_module)
    for module in all_graph_modules(copied.graph_module):
        for call in _calls(module):
            graphs = [node for node in call.all_input_nodes if _graph_of(module, node) is not None]
            inline_body(module, call, _traced(module, call, mode), mode)
            for node in graphs:
                if not node.users:
                    module.graph.erase_node(node)
        module.recompile()
    return copied


def _calls(module: fx.GraphModule) -> list[fx.Node]:
    return list(module.graph.find_nodes(op="call_function", target=_FLEX))


def _graph_of(module: fx.GraphModule, node: fx.Node) -> fx.GraphModule | None:
    attribute = getattr(module, str(node.target), None) if node.op == "get_attr" else None
    return attribute if isinstance(attribute, fx.GraphModule) else None


def _traced(module: fx.GraphModule, call: fx.Node, mode: FakeTensorMode) -> fx.GraphModule:
    """Trace the computation of `call`: the graph has its input nodes as inputs, and does not read those of graphs."""
    inputs = call.all_input_nodes
    graphs = {node: graph for node in inputs if (graph := _graph_of(module, node)) is not None}

    def compute(*values: Any) -> object:
        given: dict[fx.Node, Any] = {**dict(zip(inputs, values, strict=True)), **graphs}
        args: Any = map_arg(call.args, given.__getitem__)
        kwargs: Any = map_arg(dict(call.kwargs), given.__getitem__)
        return math_attention(*args, **kwargs)

    with computing_on_fakes(mode, _FLEX):
        placeholders = [torch.empty(()) if node in graphs else own_value(node.meta["val"]) for node in inputs]
        traced: fx.GraphModule = make_fx(compute)(*placeholders)
    return traced
