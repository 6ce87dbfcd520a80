# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Plots of plans are well-formed and have one rectangle for each tensor and a description."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import torch
from oracle.tolerances import PIXELS
from torch import nn
from torch.export import export

from executorch.devtools.view.memory import plan_html, plan_svg, write_memory_plan
from executorch.exir import to_edge
from executorch.exir.memory_planning import Arena, MemoryPlan, PlannedTensor


def tensor(name: str, offset: int, first: int, last: int, in_place_of: str = "") -> PlannedTensor:
    return PlannedTensor(name, "aten::add.out", "layer.<one>", "float32", (4,), 1, offset, 16, first, last, in_place_of)


PLAN = MemoryPlan(
    (tensor("a", 0, 1, 2), tensor("b", 16, 2, 4), tensor("c", 0, 3, 4, "a")), (Arena(1, 32, 32, 32),), steps=4
)


def rectangles(svg: str) -> list[dict[str, float]]:
    boxes = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}rect")
    keys = ("x", "y", "width", "height")
    return [{k: float(rectangle.attrib[k]) for k in keys} for rectangle in boxes if rectangle.get("class") == "tensor"]


def test_every_tensor_is_a_rectangle_of_its_steps_and_bytes() -> None:
    a, b, c = rectangles(plan_svg({"forward": PLAN}))
    assert b["y"] < a["y"] == c["y"]  # higher addresses are further up
    assert a["height"] == b["height"] == pytest.approx(c["height"])
    assert a["x"] < b["x"] < c["x"] and b["width"] == pytest.approx(1.5 * a["width"], abs=PIXELS)
    assert c["x"] == pytest.approx(a["x"] + a["width"], abs=PIXELS)


def test_a_plot_describes_each_rectangle_and_the_quality_of_the_plan() -> None:
    svg = plan_svg({"forward": PLAN})
    for part in ("in place of a", "steps 3 to 4", "module layer.&lt;one&gt;", "lower bound 32 B", "proven optimal"):
        assert part in svg
    page = plan_html({"forward": PLAN})
    assert "3 tensors in 4 steps, 1 in place" in page and "<svg" in page


def test_a_program_is_drawn_to_a_file(tmp_path: Path) -> None:
    manager = to_edge(export(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), (torch.randn(2, 4),))).to_executorch()
    for name in ("plan.svg", "plan.html"):
        write_memory_plan(manager.memory_plans, tmp_path / name)
        assert re.search("forward, arena 1", (tmp_path / name).read_text())
    with pytest.raises(ValueError, match=r"\.svg or \.html, found .*plan.png"):
        write_memory_plan(manager.memory_plans, tmp_path / "plan.png")


def test_a_method_without_planned_memory_is_drawn_too() -> None:
    ElementTree.fromstring(plan_svg({"forward": MemoryPlan((), (Arena(1, 0, 0, 0),), 0)}))
