# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Records keep programs, debug handles and reference values; damaged records are refused."""

import copy
import io
import operator
import os
import zipfile
from pathlib import Path

import pytest
import torch
from oracle import peer
from recorded_run import Block, TwoBlocks

from executorch.devtools import BundledProgram, ETRecord, generate_etrecord, parse_etrecord
from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from executorch.devtools.etrecord._etrecord import ETRecordReservedFileNames
from executorch.devtools.inspector.attribution import nodes_by_handle
from executorch.exir import ExecutorchProgramManager, to_edge, to_edge_transform_and_lower
from executorch.exir.dialects._ops import ops
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.error import module_name
from executorch.exir.pass_base import ExportPass

X = torch.arange(8.0).reshape(2, 4) / 8


def program(model: torch.nn.Module) -> ExecutorchProgramManager:
    return to_edge(torch.export.export(model, (X,)), generate_etrecord=True).to_executorch()


def calls(record: ETRecord) -> list[tuple[str, str, object]]:
    (edge,) = record.edge_programs().values()
    nodes = [node for node in edge.graph.nodes if node.op == "call_function"]
    assert all(isinstance(node.target, EdgeOpOverload) for node in nodes)
    return [(node.name, str(node.target), node.meta["debug_handle"]) for node in nodes]


def test_a_record_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    model = TwoBlocks().eval()
    record = program(model).get_etrecord()
    record.update_representative_inputs([X])
    record.update_reference_outputs([[model(X).detach()]])
    record.add_extra_export_modules({"other": torch.export.export(Block().eval(), (X,))})
    record.save(tmp_path / "record.bin")
    read = parse_etrecord(tmp_path / "record.bin")
    assert calls(read) == calls(record)
    assert read._debug_handle_map == {"forward": {str(k): v for k, v in record._debug_handle_map["forward"].items()}}
    for stage in (read.exported_program, read.edge_dialect_program):
        torch.testing.assert_close(stage.module()(X), model(X))
    torch.testing.assert_close(read._reference_outputs["forward"][0][0], model(X))
    torch.testing.assert_close(read._representative_inputs, [X])
    assert set(read.graph_map) == {"other/forward"}
    last = [node for node in read.edge_dialect_program.graph.nodes if node.op == "call_function"][-1]
    assert "recorded_run.py" in last.meta["stack_trace"]


class SinToCos(ExportPass):
    def call_operator(self, op, args, kwargs, meta):
        return super().call_operator(ops.edge.aten.cos.default if "sin" in str(op) else op, args, kwargs, meta)


class Sine(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x)


def test_a_record_has_the_programs_that_transform_passes_made(tmp_path: Path) -> None:
    exported = torch.export.export(Sine(), (X,))
    manager = to_edge_transform_and_lower(exported, transform_passes=[SinToCos()], generate_etrecord=True)
    manager.to_executorch().get_etrecord().save(tmp_path / "record.bin")
    graph = parse_etrecord(tmp_path / "record.bin").graph_map["edge_after_transform/forward"]
    torch.testing.assert_close(graph.module()(X), torch.cos(X))
    untouched = to_edge_transform_and_lower(exported, generate_etrecord=True)
    assert not untouched.to_executorch().get_etrecord().graph_map


def test_generate_etrecord_takes_bundled_programs_and_open_files() -> None:
    model = TwoBlocks().eval()
    edge = to_edge(torch.export.export(model, (X,)))
    case = MethodTestCase((X,), model(X).detach())
    bundled = BundledProgram(edge.to_executorch(), [MethodTestSuite("forward", [case])])
    file = io.BytesIO()
    generate_etrecord(file, edge, bundled)
    read = parse_etrecord(file)
    torch.testing.assert_close(read._reference_outputs["forward"], [[model(X)]])
    torch.testing.assert_close(read._representative_inputs, [X])


def test_a_deep_copy_of_the_edge_program_is_recorded(tmp_path: Path) -> None:
    # torch renames the input of the copy: `input` is the name of a Python function.
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Sigmoid())
    edge = to_edge(torch.export.export(model, (X,)))
    edge_copy = copy.deepcopy(edge)
    generate_etrecord(tmp_path / "record.bin", edge_copy, edge.to_executorch())
    read = parse_etrecord(tmp_path / "record.bin").edge_dialect_program
    torch.testing.assert_close(read.module()(X), model(X))


def test_missing_and_duplicate_parts_of_a_record_are_reported(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="generate_etrecord=True"):
        to_edge(torch.export.export(Block().eval(), (X,))).to_executorch().get_etrecord()
    with pytest.raises(RuntimeError, match="lacks the edge program"):
        ETRecord().save(tmp_path / "record.bin")
    manager = program(Block().eval())
    record = manager.get_etrecord()
    with pytest.raises(RuntimeError, match="already"):
        record.add_executorch_program(manager)
    with pytest.raises(RuntimeError, match="'delegate_map'"):
        record.add_extra_export_modules({"delegate_map": record.exported_program})


@pytest.mark.parametrize("name", ETRecordReservedFileNames)
def test_names_of_entries_are_refused_for_further_programs(name: ETRecordReservedFileNames) -> None:
    exported = torch.export.export(Block().eval(), (X,))
    with pytest.raises(RuntimeError, match=f"'{name}'"):
        ETRecord().add_extra_export_modules({name: exported})


def test_a_file_without_a_record_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no record")
    with pytest.raises(RuntimeError, match="not an ETRecord"):
        parse_etrecord(tmp_path / "text")
    with zipfile.ZipFile(tmp_path / "zip", "w") as archive:
        archive.writestr("else", "")
    with pytest.raises(RuntimeError, match="entry 'ETRECORD_V0' is missing"):
        parse_etrecord(tmp_path / "zip")


PEER = """
import torch
from executorch.devtools import Inspector, parse_etrecord
from executorch.exir import to_edge
read = parse_etrecord({ours!r})
print([node.meta["debug_handle"] for node in read.edge_dialect_program.graph.nodes if node.op == "call_function"])
torch.save(read.edge_dialect_program.module()(torch.load({x!r})), {out!r})
class Two(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1
program = to_edge(torch.export.export(Two(), (torch.ones(2, 4),)), generate_etrecord=True).to_executorch()
program.get_etrecord().save({theirs!r})
"""


@pytest.mark.skipif(not peer.is_installed(), reason=peer.MISSING)
def test_records_are_exchanged_with_the_reference(tmp_path: Path) -> None:
    model = TwoBlocks().eval()
    record = program(model).get_etrecord()
    record.save(tmp_path / "ours")
    torch.save(X, tmp_path / "x")
    paths = {name: str(tmp_path / name) for name in ("ours", "theirs", "x", "out")}
    printed = peer.run_script(PEER.format(**paths), [], tmp_path)
    assert printed.strip() == str([handle for _, _, handle in calls(record)])
    torch.testing.assert_close(torch.load(tmp_path / "out"), model(X))
    read = parse_etrecord(tmp_path / "theirs")
    assert next(name for name, _, _ in calls(read)) == "aten_relu_default"
    torch.testing.assert_close(read.edge_dialect_program.module()(X), torch.relu(X) + 1)


class Branches(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.yes = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: self.yes(x) * 2, lambda x: x.sin(), (x,))


def test_a_record_has_the_handles_and_modules_of_branches() -> None:
    model, file = Branches().eval(), io.BytesIO()
    record = program(model).get_etrecord()
    record.save(file)
    read = parse_etrecord(file)
    torch.testing.assert_close(read.edge_dialect_program.module()(X), model(X))

    def calls(record: ETRecord) -> dict[int, list[torch.fx.Node]]:
        by_handle = nodes_by_handle(record.edge_dialect_program).items()
        without_getitem = {
            key: [node for node in nodes if node.target is not operator.getitem] for key, nodes in by_handle
        }
        return {key: nodes for key, nodes in without_getitem.items() if nodes}

    def names(record: ETRecord) -> dict[int, list[str]]:
        return {key: [node.name for node in nodes] for key, nodes in calls(record).items()}

    assert names(record) == names(read)
    (linear,) = [nodes[-1] for nodes in calls(read).values() if len(nodes) == 2]
    assert module_name(linear) == "yes"


class Code:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, ("raise AssertionError('the record ran code')",)


def pickled(value: object) -> bytes:
    file = io.BytesIO()
    torch.save(value, file)
    return file.getvalue()


def outside() -> torch.Tensor:
    """A sparse tensor whose element lies behind its end."""
    return torch.sparse_coo_tensor(torch.tensor([[1 << 40]]), torch.ones(1), (4,), check_invariants=False)


@pytest.mark.parametrize(
    ("entry", "content", "says"),
    [
        ("debug_handle_map", b"{", "JSONDecodeError"),
        ("debug_handle_map", b"[1]", "expected method"),
        ("debug_handle_map", b'{"forward": {"0": "x"}}', "expected method → instruction → debug handle"),
        ("debug_handle_map", b'{"forward": {"\\u00b2": 1}}', "expected method → instruction → debug handle"),
        ("delegate_map", b'{"forward": {"0": 3}}', "name and map of the delegate"),
        ("representative_inputs", pickled([Code()]), "expected only tensors"),
        ("edge_dialect_exported_program/forward_constants", pickled({"x": Code()}), "expected only tensors"),
        ("edge_dialect_exported_program/forward", b'{"expr_str": "exec(chr(35))"}', "expression of symbols"),
        ("edge_dialect_exported_program/forward", b'{"expr_str": "Matrix(99, 99)"}', "expression of symbols"),
        ("edge_dialect_exported_program/forward", b'{"expr_str": "9**9**9"}', "exponents of a size"),
        ("edge_dialect_exported_program/forward", b"\xff\xfe", "cannot be read"),
        ("exported_program_state_dict", b"PK", "cannot be read"),
        ("representative_inputs", pickled([outside()]), "inconsistent with indices"),
        ("edge_dialect_exported_program/forward_constants", pickled({"x": outside()}), "inconsistent with indices"),
    ],
)
def test_a_damaged_record_names_the_entry_and_runs_no_code(entry: str, content: bytes, says: str) -> None:
    record = program(TwoBlocks().eval()).get_etrecord()
    record.update_representative_inputs([X])
    whole, damaged = io.BytesIO(), io.BytesIO()
    record.save(whole)
    with zipfile.ZipFile(whole) as read, zipfile.ZipFile(damaged, "w") as written:
        for name in read.namelist():
            written.writestr(name, content if name == entry else read.read(name))
    with pytest.raises(RuntimeError, match=says) as raised:
        parse_etrecord(damaged)
    assert entry.removesuffix("_constants").removesuffix("_state_dict") in str(raised.value)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_entry_of_any_compression_is_refused(method: int) -> None:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", method) as archive:
        archive.writestr("ETRECORD_V0", b"")
        archive.writestr("export_graph_id", b"7")
    whole = written.getvalue()
    assert parse_etrecord(io.BytesIO(whole)).export_graph_id == 7
    begin = whole.index(b"export_graph_id") + len("export_graph_id")
    refused = 0
    for at in range(begin, whole.index(b"PK\1\2")):
        damaged = bytearray(whole)
        damaged[at] ^= 0xFF
        try:
            parse_etrecord(io.BytesIO(bytes(damaged)))
        except RuntimeError as error:
            assert "'export_graph_id' cannot be read" in str(error)
            refused += 1
    assert refused > 0


def test_a_record_that_unpacks_to_far_more_than_its_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "record.bin"
    program(Block().eval()).get_etrecord().save(path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("other/forward", bytes(128 << 20))
    with pytest.raises(RuntimeError, match=r"unpack to \d+ bytes, expected at most 67108864"):
        parse_etrecord(path)


def test_tensors_that_unpack_to_far_more_than_their_entry_are_refused(tmp_path: Path) -> None:
    saved, packed = io.BytesIO(), io.BytesIO()
    torch.save(torch.zeros(40 << 20, dtype=torch.uint8), saved)
    with zipfile.ZipFile(saved) as source, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as target:
        for entry in source.infolist():
            target.writestr(entry.filename, source.read(entry))
        target.writestr("more", bytes(40 << 20))
    path = tmp_path / "record.bin"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ETRECORD_V0", "")
        archive.writestr("representative_inputs", packed.getvalue())
    with pytest.raises(RuntimeError, match=r"representative_inputs.*expected stored entries, found the compressed"):
        parse_etrecord(path)


def test_a_fifo_is_not_a_record(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(RuntimeError, match="not a regular file"):
        parse_etrecord(tmp_path / "fifo")
