# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Memory explanation of a program whose tensors are easy to count."""

import json
from pathlib import Path

import peer_programs
import pytest
import torch

from executorch.devtools.memory import MethodMemory, explain
from executorch.exir import ExecutorchProgramManager, to_edge


class Layers(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(64, 256)
        self.second = torch.nn.Linear(256, 16)
        self.register_buffer("count", torch.zeros(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        return self.second(self.first(x).relu()) + self.count.sum()


@pytest.fixture(scope="module")
def program() -> ExecutorchProgramManager:
    return to_edge(torch.export.export(Layers(), (torch.ones(4, 64),))).to_executorch()


def _figures(method: MethodMemory) -> dict[str, tuple[int | None, int | None]]:
    return {row.what: (row.predicted, row.measured) for row in method.figures}


def test_constants_are_counted_by_module(program: ExecutorchProgramManager) -> None:
    explanation = explain(program, run=False)
    assert explanation.by_module["first"] == (64 * 256 + 256) * 4
    assert explanation.by_module["second"] == (256 * 16 + 16) * 4
    assert sum(explanation.by_module.values()) == explanation.constants
    assert explanation.file == len(program.buffer)


def test_the_peak_of_an_arena_names_its_tensors(program: ExecutorchProgramManager) -> None:
    (arena,) = explain(program, run=False).methods["forward"].arenas
    assert arena.peak == arena.lower_bound == arena.nbytes == max(arena.alive)
    assert arena.at_peak[0].shape == (4, 256)
    assert arena.at_peak[0].module in ("first", "")
    assert "count" in {name.removeprefix("b_") for name in (tensor.name for tensor in arena.at_peak)}


def test_the_file_alone_explains_nearly_as_much(program: ExecutorchProgramManager) -> None:
    known, read = explain(program, run=False), explain(program.buffer, run=False)
    assert (read.file, read.constants) == (known.file, known.constants)
    (arena,), (other,) = read.methods["forward"].arenas, known.methods["forward"].arenas
    assert (arena.mem_id, arena.nbytes, arena.lower_bound) == (other.mem_id, other.nbytes, None)
    assert arena.at_peak[0].shape == (4, 256)
    assert other.at_peak[0].size <= arena.peak <= arena.nbytes


def test_a_run_takes_the_predicted_memory(program: ExecutorchProgramManager) -> None:
    figures = _figures(explain(program).methods["forward"])
    for what in ("planned arenas", "method allocator"):
        predicted, measured = figures[what]
        assert predicted == measured
        assert predicted
    temp = figures["temporary memory"][1]
    assert temp is not None
    inputs = {"forward": [torch.ones(4, 64)]}
    assert _figures(explain(program.buffer, inputs).methods["forward"]) == figures


def test_tables_and_json_have_the_same_figures(program: ExecutorchProgramManager) -> None:
    explanation = explain(program, run=False)
    rows = [line.split() for line in explanation.table().splitlines()]
    assert ["first", str(explanation.by_module["first"])] in rows
    as_json = json.loads(explanation.to_json())
    assert as_json["methods"]["forward"]["arenas"][0]["nbytes"] == explanation.methods["forward"].arenas[0].nbytes
    assert "smaller ones" in explanation.table(most=1)


@pytest.mark.parametrize("path", sorted(peer_programs.FOLDER.glob("*.pte")), ids=lambda path: path.stem)
def test_arenas_of_any_file_hold_their_tensors(path: Path) -> None:
    for method in explain(path, run=False).methods.values():
        for arena in method.arenas:
            assert 0 <= arena.peak <= arena.nbytes
            assert sum(tensor.size for tensor in arena.at_peak) >= arena.peak


def test_a_program_that_cannot_run_has_a_reason(program: ExecutorchProgramManager) -> None:
    found = explain(program, {"forward": [torch.ones(5, 64)]})
    (row,) = [row for row in found.methods["forward"].figures if row.what == "planned arenas"]
    assert row.measured is None
    assert "input 0" in row.note
    with pytest.raises(ValueError, match=r"\['backward'\]: expected methods of the program, \['forward'\]"):
        explain(program, {"backward": []})
