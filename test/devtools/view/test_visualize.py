# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The page shows every delegate, every undelegated operator and its reason, in all graphs."""

from __future__ import annotations

import json
import re
import webbrowser
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from oracle.demo.demo_backends import DEMO_OPERATORS, Takes

from executorch.devtools.visualization import (
    ModelExplorerServer,
    SingletonModelExplorerServer,
    visualize,
    visualize_graph,
    visualize_with_clusters,
)
from executorch.exir import EdgeProgramManager, ExecutorchBackendConfig, to_edge_transform_and_lower


class Branching(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(4, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.cond(x.sum() > 0, lambda x: torch.mm(x, self.weight) + x, lambda x: x.cos() - x, (x,))
        return torch.sort(torch.sin(y) + x)[0]


@pytest.fixture(scope="module")
def lowered() -> EdgeProgramManager:
    exported = torch.export.export(Branching(), (torch.randn(4, 4),))
    return to_edge_transform_and_lower(exported, partitioner=[Takes("BackendWithCompilerDemo", *DEMO_OPERATORS)])


def pictures(page: str) -> list[list[str]]:
    """The labels of the boxes of each drawing."""
    drawn = [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]
    space = "{http://www.w3.org/2000/svg}"
    return [[str(group.findtext(f"{space}text")) for group in svg.iter(f"{space}g")] for svg in drawn]


def test_every_graph_and_the_inside_of_every_delegate_is_drawn(lowered: EdgeProgramManager, tmp_path: Path) -> None:
    page = visualize(lowered, no_open_in_browser=True, path=tmp_path / "page.html").read_text()
    demo = "BackendWithCompilerDemo"
    assert [set(labels) for labels in pictures(page)] == [
        {"x", "aten.sum.dim_IntList", "aten.gt.Scalar", "cond", demo, "aten.sort", "output"},
        {"getitem", "x", "aten.sin", "aten.add.Tensor", "output"},
        {"x", demo, "output"},
        {"x", "aten.mm", "aten.add.Tensor", "output"},
        {"x", "aten.cos", demo, "output"},
        {"aten_cos_default", "x", "aten.sub.Tensor", "output"},
    ]
    assert not any("weight" in label for picture in pictures(page) for label in picture)
    assert "Takes: the partitioner does not take it" in page and "test_visualize.py" in page


def test_finished_programs_and_graphs_of_passes_are_drawn(lowered: EdgeProgramManager, tmp_path: Path) -> None:
    finished = lowered.to_executorch(ExecutorchBackendConfig(check_target=False))
    page = visualize(finished, no_open_in_browser=True, path=tmp_path / "page.html").read_text()
    assert "aten.cos.out" in page and "alloc" not in page
    graph = lowered.exported_program().graph_module
    drawn = visualize_graph(graph, lowered, no_open_in_browser=True, path=tmp_path / "graph.html").read_text()
    assert len(pictures(drawn)) == 6


def test_pages_open_in_the_browser_without_a_server(
    lowered: EdgeProgramManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    with SingletonModelExplorerServer(), ModelExplorerServer(open_in_browser=False, port=8080):
        path = visualize(lowered.exported_program())
    assert opened == [path.as_uri()] and path.read_text().startswith("<!doctype html>")
    path.unlink()
    with pytest.raises(TypeError, match="found int"):
        visualize(3)  # type: ignore[arg-type]


def test_model_explorer_gets_partitions_and_clusters_as_layers(tmp_path: Path) -> None:
    program = torch.export.export(Branching(), (torch.randn(4, 4),))
    (sort,) = (node for node in program.graph.nodes if node.name == "sort")
    sort.meta["delegation_tag"], sort.meta["cluster"] = "a/b", "c"
    path = visualize_with_clusters(program, str(tmp_path / "graph.json"))
    nodes = {node["id"]: node for node in json.loads(path.read_text())["graphs"][0]["nodes"]}
    assert nodes["sort"]["namespace"] == "partition 0 (a:b)/cluster (c)" and nodes["sin"]["namespace"] == ""
    assert [edge["sourceNodeId"] for edge in nodes["sin"]["incomingEdges"]] == ["getitem"]
    assert {"key": "value", "value": "float32[4, 4]"} in nodes["sin"]["attrs"]
