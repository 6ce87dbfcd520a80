# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Draw a memory plan, a delegated graph and the report of a run: `python draw_pictures.py FOLDER`."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import torch
from torch import nn

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.devtools.report import analyze_run, report_html
from executorch.devtools.view.delegation import write_delegation
from executorch.devtools.view.memory import plan_svg
from executorch.exir import to_edge, to_edge_transform_and_lower


class Model(nn.Module):
    """A small network for images, with a sort that XNNPACK refuses."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU())
        self.block = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 8, 1))
        self.head = nn.Linear(8, 4)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Scores of the eight channels in order."""
        x = self.stem(image)
        x = torch.relu(self.block(x) + x)
        return torch.softmax(self.head(torch.sort(x.mean((2, 3))).values), 1)


def main(folder: Path) -> None:
    """Write the three pictures."""
    torch.manual_seed(0)
    model, inputs = Model().eval(), (torch.randn(1, 3, 32, 32),)
    exported = torch.export.export(model, inputs)
    planned = to_edge(exported).to_executorch()
    (folder / "memory-plan.svg").write_text(plan_svg(planned.memory_plans))
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()], generate_etrecord=True)
    program = lowered.to_executorch()
    write_delegation({"forward": program.exported_program()}, folder / "delegation.html")
    analysis = analyze_run(
        program.buffer, title="a small network", inputs=inputs, record=program.get_etrecord(), runs=10, warm_up=2
    )
    (folder / "report.html").write_text(report_html(analysis))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]))
