# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Whole models on XNNPACK: the delegated share, and results that match eager's; on the peer's runtime too."""

from pathlib import Path

import pytest
import torch
from models import make
from oracle import peer
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import MODEL

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.backend.utils import get_delegation_info
from executorch.runtime import Runtime

pytestmark = needs_xnnpack

# Model → delegates.
MODELS = {"mlp": 1, "resnet18": 1, "mobilenet_v2": 1, "mobilenet_v3": 1, "vit_tiny": 1, "minilm": 1, "decoder": 1}


@pytest.mark.sampled
@pytest.mark.parametrize("name", MODELS)
def test_models_match_eager(name: str) -> None:
    model, inputs = make(name)
    lowered = to_edge_transform_and_lower(torch.export.export(model, inputs), partitioner=[XnnpackPartitioner()])
    info = get_delegation_info(lowered.exported_program().graph_module)
    assert info.num_delegated_subgraphs == MODELS[name], info.get_summary()
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    (output,) = method.execute(inputs)
    torch.testing.assert_close(output, model(*inputs), **MODEL)


RUN = """
import sys, torch
from executorch.runtime import Runtime
inputs = torch.load(sys.argv[2])
torch.save(list(Runtime.get().load_program(sys.argv[1]).load_method("forward").execute(inputs)), sys.argv[3])
"""
EXPORT = """
import sys, torch
from executorch.exir import to_edge_transform_and_lower
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
exported = torch.export.load(sys.argv[1])
lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
open(sys.argv[2], "wb").write(lowered.to_executorch().buffer)
"""


@pytest.mark.skipif(not peer.is_installed(), reason=peer.MISSING)
@pytest.mark.parametrize("name", ["mlp", "mobilenet_v2", "vit_tiny", "decoder"])
def test_programs_of_either_origin_run_on_either_runtime(name: str, tmp_path: Path) -> None:
    model, inputs = make(name)
    exported = torch.export.export(model, inputs)
    torch.save(list(inputs), tmp_path / "inputs.pt")
    torch.export.save(exported, tmp_path / "exported.pt2")
    ours = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch().buffer
    (tmp_path / "ours.pte").write_bytes(ours)
    peer.run_script(RUN, ["ours.pte", "inputs.pt", "outputs.pt"], tmp_path)
    peer.run_script(EXPORT, ["exported.pt2", "theirs.pte"], tmp_path)
    (there,) = torch.load(tmp_path / "outputs.pt")
    (here,) = Runtime.get().load_program(tmp_path / "theirs.pte").load_method("forward").execute(inputs)
    expected = model(*inputs)
    torch.testing.assert_close(there, expected, **MODEL)
    torch.testing.assert_close(here, expected, **MODEL)
