# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Saving and loading of programs of the ATen and Edge dialects."""

import io
import json
import os
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import pytest
import torch
from torch._export.serde.serialize import SerializeError
from torch.export import Dim, ExportedProgram, export

from executorch.exir import load, save, to_edge
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.serde.program_bytes import program_from_bytes, program_to_bytes
from executorch.exir.serde.serialize import deserialize, serialize


def _exported() -> ExportedProgram:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())
    return export(model, (torch.ones(2, 3),), dynamic_shapes=({0: Dim("rows", max=8)},))


@pytest.mark.parametrize("edge", [False, True], ids=["aten", "edge"])
def test_a_loaded_program_computes_what_the_saved_one_computes(edge: bool, tmp_path: Path) -> None:
    program = _exported()
    saved = to_edge(program).exported_program() if edge else program
    save(saved, tmp_path / "program.zip", extra_files={"note.txt": "grüße"})
    extra = {"note.txt": ""}
    loaded = load(tmp_path / "program.zip", extra_files=extra)
    data = torch.randn(5, 3)
    torch.testing.assert_close(loaded.module()(data), program.module()(data))
    assert extra == {"note.txt": "grüße"}
    targets = [node.target for node in loaded.graph.nodes if node.op == "call_function"]
    assert any(isinstance(target, EdgeOpOverload) for target in targets) == edge
    assert to_edge(loaded).to_executorch().buffer if not edge else loaded


def test_bytes_hold_a_whole_program() -> None:
    program = _exported()
    data = torch.randn(2, 3)
    torch.testing.assert_close(deserialize(serialize(program)).module()(data), program.module()(data))


class _Halves(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        left, right = torch.split(x, 2)
        return left * right


def test_nodes_keep_debug_handles_and_the_nodes_that_they_come_from() -> None:
    program = to_edge(export(_Halves(), (torch.ones(4),))).exported_program()
    loaded = deserialize(serialize(program))
    kept = [[node.meta.get(key) for key in ("debug_handle", "from_node")] for node in program.graph.nodes]
    assert [[node.meta.get(key) for key in ("debug_handle", "from_node")] for node in loaded.graph.nodes] == kept
    assert all(handle and source for handle, source in kept[1:-1])


@pytest.mark.parametrize(
    "sources",
    [3, "[3]", '[{"action": 3}]', '[{"from_node": 3}]', '[{"from_node":' * 300 + "[]" + "}]" * 300, "[" * 100_000],
    ids=["number", "list of numbers", "action", "inner", "300 sources", "nesting"],
)
def test_invalid_sources_of_nodes_are_refused(sources: object) -> None:
    data = program_to_bytes(_exported())
    graph = json.loads(data.exported_program)
    graph["graph_module"]["graph"]["nodes"][0]["metadata"]["from_node"] = sources
    with pytest.raises(ValueError, match="from_node"):
        program_from_bytes(replace(data, exported_program=json.dumps(graph).encode()))


def test_planned_programs_are_not_saved() -> None:
    with pytest.raises(SerializeError, match="before to_executorch"):
        serialize(to_edge(_exported()).to_executorch().exported_program())


def test_another_version_of_the_format_is_refused() -> None:
    file = io.BytesIO()
    save(_exported(), file)
    changed = io.BytesIO()
    with ZipFile(file) as old, ZipFile(changed, "w") as new:
        for name in old.namelist():
            new.writestr(name, b"99.0" if name == "version" else old.read(name))
    with pytest.raises(ValueError, match=r"expected version 5, found 99\.0"):
        load(changed)


def test_loading_does_not_wait_for_the_writer_of_a_fifo(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(ValueError, match="expected a regular file, found"):
        load(tmp_path / "fifo")


def test_a_missing_extra_file_is_named() -> None:
    file = io.BytesIO()
    save(_exported(), file)
    with pytest.raises(ValueError, match="extra_files/absent"):
        load(file, extra_files={"absent": ""})


def test_only_programs_are_saved_and_only_aten_has_an_operator_version() -> None:
    with pytest.raises(TypeError, match="found int"):
        save(3, io.BytesIO())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="other"):
        serialize(_exported(), {"aten": 10, "other": 1})
