# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Programs of either origin run on either runtime with the same numbers."""

from pathlib import Path

import numpy as np
import pytest
import torch
from models import make
from oracle import peer
from oracle.models.pipeline import run, to_program
from oracle.tolerances import MODEL, absolute

from executorch.exir import EdgeCompileConfig

pytestmark = pytest.mark.skipif(not peer.is_installed(), reason=peer.MISSING)

RUN = """
import sys, torch
from executorch.runtime import Runtime
inputs = torch.load(sys.argv[2])
outputs = Runtime.get().load_program(sys.argv[1]).load_method("forward").execute(inputs)
torch.save([o for o in outputs], sys.argv[3])
"""

EXPORT = """
import sys, torch
from executorch.exir import to_edge
exported = torch.export.load(sys.argv[1])
open(sys.argv[2], "wb").write(to_edge(exported).to_executorch().buffer)
"""

MODELS = ["mlp", "lstm", "decoder", "mobilenet_v2", "vit_tiny"]


@pytest.mark.parametrize("name", MODELS)
def test_our_program_runs_on_the_peers_runtime(name: str, tmp_path: Path) -> None:
    model, inputs = make(name)
    program = to_program(model, inputs, edge=EdgeCompileConfig(unroll_recurrent=True))  # the peer has no such kernels
    (tmp_path / "ours.pte").write_bytes(program)
    torch.save(list(inputs), tmp_path / "inputs.pt")
    peer.run_script(RUN, ["ours.pte", "inputs.pt", "outputs.pt"], tmp_path)
    theirs = torch.load(tmp_path / "outputs.pt")
    for found, expected in zip(theirs, run(program, inputs), strict=True):
        torch.testing.assert_close(found, expected, **absolute(MODEL))


@pytest.mark.parametrize("name", MODELS)
def test_the_peers_program_runs_here(name: str, tmp_path: Path) -> None:
    model, inputs = make(name)
    torch.export.save(torch.export.export(model, inputs), tmp_path / "exported.pt2")
    peer.run_script(EXPORT, ["exported.pt2", "theirs.pte"], tmp_path)
    with torch.no_grad():
        expected = model(*inputs)
    (found,) = run((tmp_path / "theirs.pte").read_bytes(), inputs)
    assert np.abs((found - expected).numpy()).max() <= MODEL["atol"]
