# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Equal calls."""

import torch
from models.function_module import Function
from models.module_kinds import kind_of
from oracle.models.every_step import assert_step_saves
from torch.export import export

from executorch.exir.passes.cse_pass import CSEPass


def test_equal_calls_are_computed_once() -> None:
    assert_step_saves("CSEPass", kind_of(lambda x: (x * 2).sin() + (x * 2).sin(), (torch.randn(2, 3),)))


def test_a_derived_class_keeps_equal_calls_of_operators_that_it_names() -> None:
    class KeepsSines(CSEPass):
        UNSAFE_OPS = CSEPass.UNSAFE_OPS | {"aten::sin"}

    module = Function(lambda x: (x.sin() + x.sin()) * (x.cos() + x.cos()))
    graph_module = export(module, (torch.randn(2, 3),)).graph_module
    calls = [str(node.target) for node in KeepsSines()(graph_module).graph_module.graph.nodes]
    assert (calls.count("aten.sin.default"), calls.count("aten.cos.default")) == (2, 1)
