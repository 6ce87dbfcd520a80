# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Backends of the installed runtime try their delegates before a program is finished; it states its memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from oracle.demo.demo_runtime import library_path
from torch.export import export

from executorch.exir import to_edge
from executorch.exir.plugins import installed_runtime
from executorch.exir.report.lowering_report import LoweringReport
from executorch.runtime import Runtime

# In a process of its own, whose runtime has the demo backends.
SCRIPT = """
import sys
sys.path.insert(0, sys.argv[2])
from oracle.demo.demo_server import use_extension
use_extension(sys.argv[1])
import json, torch
from torch.export import export
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.test.op_partitioner_demo import NonDecompTestPartitioner
from executorch.exir.error import VerificationError
from oracle.demo.demo_backends import DEMO_OPERATORS, Takes

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(4))
        self.register_buffer("count", torch.zeros(4))
    def forward(self, x):
        self.count.add_(x)
        return x * self.weight + self.count

def lowered(partitioner):
    return to_edge_transform_and_lower(export(Net(), (torch.ones(4),)), partitioner=[partitioner]).to_executorch()

specs = CompileSpec("file", b"weights"),
built = [lowered(p).verdict.as_dict() for p in (
    Takes("BackendWithCompilerDemo", *DEMO_OPERATORS), Takes("SharingDemo", *DEMO_OPERATORS),
    Takes("SharingDemo", *DEMO_OPERATORS, specs=specs))]
resize = torch.nn.UpsamplingNearest2d(scale_factor=2)
edge = to_edge_transform_and_lower(export(resize, (torch.ones(1, 1, 2, 2),)), partitioner=[NonDecompTestPartitioner()])
try:
    edge.to_executorch()
    refused = ""
except VerificationError as error:
    refused = str(error)
print(json.dumps([built, refused]))
"""


def test_a_backend_of_the_runtime_tries_its_delegates() -> None:
    tests = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-c", SCRIPT, str(library_path()), str(tests)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    built, refused = json.loads(done.stdout.splitlines()[-1])
    assert [one["dry_built"] for method in built for one in method["methods"][0]["delegates"]] == [True] * 3
    assert [one["named_data_bytes"] for one in built] == [0, 16, 0]
    assert list(built[2]["data_file_bytes"]) == ["weights"] and built[2]["data_file_bytes"]["weights"] > 16
    for words in ("BackendWithCompilerDemo refuses its delegate", "upsampl", "there is no operation", "check_target"):
        assert words in refused


def test_the_lowering_report_has_the_memory_that_the_runtime_states() -> None:
    manager = to_edge(export(torch.nn.Linear(4, 4), (torch.ones(1, 4),))).to_executorch()
    (method,) = manager.verdict.methods
    stated = Runtime.get().load_program(manager.buffer).metadata("forward").method_allocator_size()
    assert method.method_allocator_bytes == stated > 0
    assert f"method allocator: {stated:,} bytes" in str(manager.verdict)


def test_without_the_runtime_the_report_notes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "executorch.export.runtime_probe", None)  # importing it raises ImportError
    installed_runtime.installed_runtime.cache_clear()
    try:
        report = to_edge(export(torch.nn.ReLU(), (torch.ones(1),))).to_executorch().verdict
    finally:
        monkeypatch.undo()
        installed_runtime.installed_runtime.cache_clear()
    assert report.methods[0].method_allocator_bytes is None and "not installed" in str(report)
    assert isinstance(report, LoweringReport)
