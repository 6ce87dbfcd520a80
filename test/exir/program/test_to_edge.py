# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Lowering to the edge dialect, of layers and small models."""

import pytest
import torch
from oracle.tolerances import LAYER
from torch import nn
from torch.export import Dim, export

from executorch.exir import EdgeCompileConfig, EdgeProgramManager, to_edge, to_edge_transform_and_lower
from executorch.exir.error import ExportError

_IMAGE = torch.randn(1, 3, 8, 8)


class ChannelsLast(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        y = self.conv(x.to(memory_format=torch.channels_last))
        return y, y.contiguous().flatten(1), x.half().float()


class Inplace(nn.Module):
    def forward(self, x):
        y = x.clone()
        y[0] = 1.0
        y.add_(2).relu_()
        return y


class Functions(nn.Module):
    def forward(self, x):
        f = nn.functional
        return (
            f.gelu(x), f.hardswish(x), f.pad(x, (1, 1)), x.norm(dim=1), x.std(1), f.normalize(x), f.max_pool2d(x, 2),
            f.interpolate(x, scale_factor=2, mode="bilinear"), torch.einsum("nchw,nkhw->nck", x, x), x.cumsum(1),
            f.softplus(x), x.chunk(2, -1)[1], x.roll(1, 1), x.flip(1), f.log_softmax(x, 1), x.var(), x.tril(),
        )  # fmt: skip


CASES = {
    "linear": (nn.Linear(4, 3), (torch.randn(2, 4),)),
    "convolution": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)), (_IMAGE,)),
    "channels last": (ChannelsLast(), (_IMAGE,)),
    "in place": (Inplace(), (torch.randn(3, 4),)),
    "functions": (Functions(), (_IMAGE,)),
    "lstm": (nn.LSTM(4, 5, batch_first=True), (torch.randn(1, 3, 4),)),
    "gru": (nn.GRU(4, 5, num_layers=2), (torch.randn(3, 1, 4),)),
    "attention": (nn.MultiheadAttention(8, 2, batch_first=True), tuple(torch.randn(3, 1, 5, 8))),
    "transformer": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (torch.randn(1, 5, 8),)),
}


@pytest.mark.filterwarnings("ignore:The tensor attributes self._flat_weights")  # torch.export's, for recurrent layers
@pytest.mark.parametrize("name", CASES)
def test_the_edge_program_computes_what_eager_does(name):
    model, inputs = CASES[name]
    model.eval()
    edge = to_edge(export(model, inputs)).exported_program()
    torch.testing.assert_close(edge.module()(*inputs), model(*inputs), **LAYER)
    assert edge.dialect == "EDGE"


def test_the_given_program_does_not_change():
    exported = export(CASES["linear"][0], CASES["linear"][1])
    before = exported.graph_module.code
    to_edge(exported).to_executorch()
    assert exported.graph_module.code == before


def test_nodes_are_named_for_their_operators_and_the_signature_follows():
    program = to_edge(export(*CASES["linear"])).exported_program()
    assert [node.name for node in program.graph.nodes if node.op == "call_function"] == [
        "aten_permute_copy_default",
        "aten_addmm_default",
    ]
    assert program.graph_signature.user_outputs == ("aten_addmm_default",)
    assert "executorch_exir_dialects_edge__ops_aten_addmm_default" in program.graph_module.code


def test_symbolic_sizes_stay_symbolic():
    class Reshape(nn.Module):
        def forward(self, x):
            n = x.shape[0]
            return x.reshape(n * 4), torch.cat([x, x])[:n], x.transpose(0, 1).reshape(4, n), x.sum() / n

    exported = export(Reshape(), (torch.randn(4, 4),), dynamic_shapes=({0: Dim("n", min=2, max=16)},))
    program = to_edge(exported).exported_program()
    x = torch.randn(7, 4)
    torch.testing.assert_close(program.module()(x), Reshape()(x))


def test_methods_and_constant_methods_are_kept_by_name():
    programs = {"forward": export(*CASES["linear"]), "again": export(*CASES["linear"])}
    edge = to_edge(programs, constant_methods={"version": 3})
    assert isinstance(edge, EdgeProgramManager)
    assert edge.methods == {"forward", "again"} and edge.config_methods == {"version"}
    with pytest.raises(KeyError, match="again"):
        edge.exported_program("missing")


def test_anything_but_an_exported_program_is_refused_by_name():
    with pytest.raises(ExportError, match=r"'forward'.*found Linear"):
        to_edge(nn.Linear(1, 1))


def test_operators_can_be_preserved():
    linear = torch.ops.aten.linear.default
    for config in (EdgeCompileConfig(preserve_ops=[linear]),):
        program = to_edge(export(*CASES["linear"]), compile_config=config).exported_program()
        assert "aten_linear_default" in program.graph_module.code
        torch.testing.assert_close(program.module()(*CASES["linear"][1]), CASES["linear"][0](*CASES["linear"][1]))


def test_without_partitioners_transform_and_lower_is_to_edge():
    lowered = to_edge_transform_and_lower(export(*CASES["linear"]))
    assert (
        lowered.exported_program().graph_module.code
        == to_edge(export(*CASES["linear"])).exported_program().graph_module.code
    )
