# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Stripped programs compute the same as before."""

from pathlib import Path
from typing import Any

import numpy as np
import peer_programs
import pytest
import torch

from executorch.devtools.size import EditError, extract, regions_of, size_of, strip
from executorch.devtools.size.__main__ import main
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.serialize import deserialize_pte
from executorch.runtime import Runtime


class Counting(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.arange(64.0))
        self.register_buffer("count", torch.ones(64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        return x * self.scale + self.count


class Halving(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("ratio", torch.full((32,), 0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * self.ratio).sigmoid()


@pytest.fixture(scope="module")
def program() -> bytes:
    exported = {
        "count": torch.export.export(Counting(), (torch.ones(64),)),
        "halve": torch.export.export(Halving(), (torch.ones(32),)),
    }
    config = ExecutorchBackendConfig(emit_stacktrace=True, emit_mutable_buffer_names=True)
    return to_edge(exported).to_executorch(config).buffer


def run(data: bytes, method: str, *inputs: Any) -> list[np.ndarray]:
    loaded = Runtime.get().load_program(data).load_method(method)
    assert loaded is not None
    return [np.asarray(loaded.execute(inputs)[0]) for _ in range(2)]


def same(data: bytes, other: bytes, method: str, *inputs: Any) -> None:
    for a, b in zip(run(data, method, *inputs), run(other, method, *inputs), strict=True):
        np.testing.assert_array_equal(a, b)


def test_without_names_for_debugging_a_program_computes_the_same(program: bytes) -> None:
    small = strip(program, debug=True)
    assert len(small) < len(program)
    assert b"test_edit.py" in program and b"test_edit.py" not in small
    same(program, small, "count", torch.linspace(0, 1, 64))
    same(program, small, "halve", torch.linspace(0, 1, 32))
    assert strip(small, debug=True) == small


def test_a_removed_method_takes_the_parts_that_only_it_used_along(program: bytes) -> None:
    small = strip(program, methods=["count"])
    assert Runtime.get().load_program(small).method_names == {"halve"}
    assert set(size_of(small).operators) == {"aten::mul.out", "aten::sigmoid.out"}
    assert [part.nbytes for part in size_of(small).parts] == [128]
    same(program, small, "halve", torch.linspace(-1, 1, 32))
    other = strip(program, methods=["halve"])
    same(program, other, "count", torch.linspace(-1, 1, 64))
    assert len(size_of(strip(program, methods=["halve"], unused=False)).parts) > len(size_of(other).parts)


@pytest.mark.parametrize("path", sorted(peer_programs.FOLDER.glob("*.pte")), ids=lambda path: path.stem)
def test_any_stripped_file_computes_the_same(path: Path) -> None:
    data = path.read_bytes()
    small = strip(data, debug=True)
    before, after = deserialize_pte(data).program, deserialize_pte(small).program
    assert [plan.inputs for plan in after.execution_plan] == [plan.inputs for plan in before.execution_plan]
    assert size_of(small).operators == size_of(data).operators
    assert sorted(part.nbytes for part in size_of(small).parts) == sorted(
        part.nbytes for part in size_of(data).parts if part.uses
    )
    Runtime.get().load_program(small)


def test_a_part_is_extracted_by_its_name(program: bytes) -> None:
    (name,) = [part.name for part in size_of(program).parts if part.nbytes == 128]
    np.testing.assert_array_equal(np.frombuffer(extract(program, name), np.float32), np.full(32, 0.5))
    with pytest.raises(EditError, match="'weight': expected the name of one part, found 0 of: '"):
        extract(program, "weight")


def test_a_part_that_cannot_be_removed_is_reported(program: bytes) -> None:
    for arguments, message in (
        ({"methods": ["forward"]}, r"unknown method \['forward'\]: the file has \['count', 'halve'\]"),
        ({"methods": ["count", "halve"]}, "cannot remove all methods"),
        ({"backends": ["XnnpackBackend"]}, r"unknown backend \['XnnpackBackend'\]: the file has \[\]"),
        ({"named_data": ["key"]}, r"unknown named data \['key'\]"),
    ):
        with pytest.raises(EditError, match=message):
            strip(program, **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("path", sorted(peer_programs.FOLDER.glob("*.pte")), ids=lambda path: path.stem)
def test_regions_cover_the_file(path: Path) -> None:
    end = 0
    for region in regions_of(path.read_bytes()):
        assert region.offset == end
        end += region.nbytes
    assert end == path.stat().st_size


def test_the_command_lists_extracts_and_strips(
    program: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, made = tmp_path / "program.pte", tmp_path / "made"
    file.write_bytes(program)
    assert main([str(file), "--list"]) == 0
    assert "padding" in capsys.readouterr().out
    assert main([str(file), "--strip", "debug", "--strip", "method:count", "--to", str(made)]) == 0
    assert made.read_bytes() == strip(program, debug=True, methods=["count"])
    assert main([str(file), "--strip", "method:none", "--to", str(made)]) == 1
    assert main([str(file), "--strip", "names", "--to", str(made)]) == 1
    assert "--strip names: expected debug, unused" in capsys.readouterr().err
