# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The report shows events, times, memory and numeric differences, in a browser as well."""

from __future__ import annotations

import copy
import re
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest
import torch
from oracle.tolerances import TIMES
from recorded_run import TwoBlocks

from executorch.devtools.analysis.run_analysis import RunAnalysis
from executorch.devtools.report import analyze_run, chrome_trace, graph_html, model_explorer, report_html, write_report
from executorch.exir import ExecutorchProgramManager, to_edge, to_edge_transform_and_lower
from executorch.exir.backend.partitioner import Partitioner
from executorch.runtime import Runtime

X = torch.linspace(-1, 1, 8).reshape(2, 4)
HAS_XNNPACK = Runtime.get().backend_registry.is_available("XnnpackBackend")


def partitioners() -> list[Partitioner] | None:
    if not HAS_XNNPACK:
        return None
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    return [XnnpackPartitioner()]


def lowered(model: torch.nn.Module) -> ExecutorchProgramManager:
    exported = torch.export.export(model, (X,))
    return to_edge_transform_and_lower(exported, partitioner=partitioners(), generate_etrecord=True).to_executorch()


@pytest.fixture(scope="module")
def model() -> TwoBlocks:
    torch.manual_seed(0)
    return TwoBlocks().eval()


@pytest.fixture(scope="module")
def wrong(model: TwoBlocks) -> RunAnalysis:
    """A program with a wrong bias in the second block."""
    broken = copy.deepcopy(model)
    with torch.no_grad():
        broken.two.lin.bias[0] += 1
    return analyze_run(lowered(broken), title="wrong.pte", model=model, inputs=(X,), runs=5)


def test_a_report_shows_times_sources_gaps_and_memory(wrong: RunAnalysis) -> None:
    page = report_html(wrong)
    assert re.findall(r'<section id="(\w+)">', page) == [
        *("overview", "timeline", "operators", "graph", "numbers", "memory")
    ]
    assert not re.search(r"(src|href)=.(https?:)?//|@import|url\(", page)
    assert "First to differ" in page and "two.lin" in page and "recorded_run.py:" in page
    assert "average of 5" in page
    assert ("inside XnnpackBackend, instruction 0: 3 operators of the model" in page) == HAS_XNNPACK
    assert wrong.comparison is not None and wrong.comparison.first is not None
    assert wrong.comparison.first.module.startswith("two")


def test_the_steps_of_a_run_add_up_to_its_time(wrong: RunAnalysis) -> None:
    assert sum(step.time for step in wrong.steps) == pytest.approx(wrong.whole, rel=TIMES)
    assert {step.module for step in wrong.steps if step.is_attributed} >= {"", "one.lin", "two.lin"}


def test_contents_of_the_file_need_no_run_and_no_record(model: TwoBlocks, tmp_path: Path) -> None:
    path = tmp_path / "model.pte"
    path.write_bytes(to_edge(torch.export.export(model, (X,))).to_executorch().buffer)
    analysis = analyze_run(path, runs=0)
    labels = [call.label for call in analysis.calls]
    assert labels == ["input 0", *["addmm", "relu", "add", "erf"] * 2, "output"]
    reads = {call.label: call.reads for call in analysis.calls[:5]}
    assert reads["add"] == ["call 1", "input 0"] and reads["relu"] == ["call 0"]
    assert "runs in a kernel" in graph_html(analysis)
    written = write_report(path, tmp_path / "report.html", runs=2)
    assert written.title == "model.pte" and "float32[2, 4]" in (tmp_path / "report.html").read_text()


def test_the_memory_of_a_file_is_that_of_its_plan(model: TwoBlocks) -> None:
    program = to_edge(torch.export.export(model, (X,))).to_executorch()
    plan = analyze_run(program, runs=0).memory
    assert plan is not None
    assert plan.size == program.memory_plans["forward"].size
    assert plan.arenas[0].most_alive <= plan.size
    for one in plan.tensors:
        for other in plan.tensors:
            apart = one.last < other.first or other.last < one.first
            apart |= one.offset + one.size <= other.offset or other.offset + other.size <= one.offset
            assert one is other or apart, (one, other)


def test_other_viewers_get_every_run_and_every_node(wrong: RunAnalysis) -> None:
    trace = chrome_trace(wrong)["traceEvents"]
    runs = [event for event in trace if event["name"] == "Method::execute"]
    assert len(runs) == 5 and all(event["ph"] in "MX" for event in trace)
    for event in trace:
        if event["ph"] == "X" and event["tid"]:
            assert any(run["ts"] - 1 <= event["ts"] <= run["ts"] + run["dur"] + 1 for run in runs)
    nodes = model_explorer(wrong)["graphs"][0]["nodes"]
    names = {node["id"] for node in nodes}
    assert len(names) == len(nodes) >= len(wrong.calls)
    assert all(edge["sourceNodeId"] in names for node in nodes for edge in node["incomingEdges"])
    assert any({"key": "differs", "value": "yes"} in node["attrs"] for node in nodes)


def test_a_model_needs_inputs(model: TwoBlocks) -> None:
    with pytest.raises(ValueError, match="requires inputs"):
        analyze_run(lowered(model), model=model)


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_browser_shows_the_report(wrong: RunAnalysis, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(report_html(wrong))
    dom = _browser(tmp_path, page, "--dump-dom")
    assert 'data-ready="yes"' in dom  # its script ran to the end
    for name in ("Overview", "Timeline", "Operators", "Graph", "Numbers", "Memory"):
        assert f"<h2>{name}</h2>" in dom
    _browser(tmp_path, page, f"--screenshot={tmp_path / 'page.png'}", "--window-size=1280,2400", "--hide-scrollbars")
    assert len(set(_rows(tmp_path / "page.png"))) > 500  # lines of pixels that are not alike


def _browser(folder: Path, page: Path, *arguments: str) -> str:
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
    profile = f"--user-data-dir={folder / 'profile'}"
    command = ["chromium", *options, profile, *arguments, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def _rows(picture: Path) -> list[bytes]:
    """The lines of a PNG, as they are stored."""
    data, at, packed = picture.read_bytes(), 8, b""
    width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        packed += data[at + 8 : at + 8 + size] if data[at + 4 : at + 8] == b"IDAT" else b""
        at += 12 + size
    pixels = zlib.decompress(packed)
    line = len(pixels) // height
    assert width > 1000 and len(pixels) == line * height
    return [pixels[line * row : line * (row + 1)] for row in range(height)]
