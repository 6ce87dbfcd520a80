# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Debug handles: which nodes share one."""

import torch
from torch.export import export

from executorch.exir import to_edge


def test_debug_handles_follow_the_exported_node():
    edge = to_edge(export(torch.nn.Linear(3, 2), (torch.randn(1, 3),))).exported_program()
    handles = {node.meta["debug_handle"] for node in edge.graph.nodes if node.op == "call_function"}
    assert handles == {1}
