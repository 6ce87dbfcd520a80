# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`copy.deepcopy` of an edge program manager: it lowers like the original, and its tensors are its own."""

import copy

import torch
from oracle.tolerances import LAYER
from torch import nn
from torch.export import export

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge
from executorch.exir.delegate import executorch_call_delegate
from executorch.runtime import Runtime

_X = torch.randn(1, 4)


def _model():
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU()).eval()  # forward names its input `input`


def _run(manager):
    return Runtime.get().load_program(manager.to_executorch().buffer).load_method("forward").execute([_X])[0]


def test_copy_of_a_model_with_an_input_named_input_runs():
    model = _model()
    edge = to_edge(export(model, (_X,)), constant_methods={"size": 4})
    copied = copy.deepcopy(edge)
    assert copied.config_methods == {"size"}
    torch.testing.assert_close(_run(copied), model(_X), **LAYER)
    torch.testing.assert_close(_run(edge), model(_X), **LAYER)


def test_copy_delegates_the_operators_that_the_original_delegates():
    model = _model()
    edge = to_edge(export(model, (_X,)), generate_etrecord=True)
    delegated = copy.deepcopy(edge).to_backend(XnnpackPartitioner())
    targets = [str(node.target) for node in delegated.exported_program().graph.nodes if node.op == "call_function"]
    assert targets == [str(executorch_call_delegate), "<built-in function getitem>"]
    assert delegated.to_executorch().get_etrecord() is not None
    torch.testing.assert_close(_run(delegated), model(_X), **LAYER)


def test_copy_has_tensors_of_its_own():
    model = _model()
    edge = to_edge(export(model, (_X,)))
    copied = copy.deepcopy(edge)
    with torch.no_grad():
        for tensor in copied.exported_program().state_dict.values():
            tensor.zero_()
    assert not _run(copied).any()
    torch.testing.assert_close(_run(edge), model(_X), **LAYER)
    assert not _run(copied.to_backend(XnnpackPartitioner())).any()
