# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The size report counts every byte of a file once."""

import json
from pathlib import Path

import peer_programs
import pytest
import torch

from executorch.devtools.size import size_of
from executorch.devtools.size.__main__ import main
from executorch.exir import to_edge


@pytest.mark.parametrize("path", sorted(peer_programs.FOLDER.glob("*.pte")), ids=lambda path: path.stem)
def test_every_byte_of_a_file_is_counted_once(path: Path) -> None:
    size = size_of(path.read_bytes())
    assert sum(size.totals.values()) == size.file == path.stat().st_size
    assert all(count > 0 for count in size.totals.values())
    for kind, total in (("constant", "constants"), ("delegate", "delegates")):
        assert sum(part.nbytes for part in size.parts if part.kind == kind) <= size.totals.get(total, 0)


class Twice(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("a", torch.arange(64.0))
        self.register_buffer("count", torch.arange(64.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        return x * self.a + self.a * self.count


def test_parts_have_a_kind_and_name_the_part_that_they_duplicate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "program.pte"
    file.write_bytes(to_edge(torch.export.export(Twice(), (torch.ones(64),))).to_executorch().buffer)
    size = size_of(file.read_bytes())
    assert "aten::mul.out" in size.operators
    constants = [part for part in size.parts if part.kind == "constant"]
    assert [part.nbytes for part in constants if part.name.endswith("float 64")] == [256]
    assert main([str(file)]) == 0
    assert "aten::mul.out" in capsys.readouterr().out
    assert main([str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == size.file


def test_a_file_without_a_program_is_an_error_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("no program")
    assert main([str(tmp_path / "file")]) == 1
    assert main([str(tmp_path / "none")]) == 1
    assert "size: " in capsys.readouterr().err
