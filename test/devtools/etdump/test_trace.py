# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Our reader and ExecuTorch 1.4's read the runtime's traces."""

import contextlib
import subprocess
from pathlib import Path

import numpy as np
import peer_programs
import pytest
from oracle import peer
from oracle.tolerances import FEW_ROUNDINGS

from executorch.devtools.etdump.schema_flatcc import (
    DebugEvent,
    ETDumpFlatCC,
    Event,
    Int,
    ProfileEvent,
    RunData,
    Value,
    ValueType,
)
from executorch.devtools.etdump.serialize import deserialize_from_etdump_flatcc, serialize_to_etdump_flatcc
from executorch.devtools.etdump.trace import read_trace
from executorch.exir.serialize.errors import MalformedProgramError
from executorch.extension.executor_runner import command
from executorch.runtime import Runtime
from executorch.runtime.errors import AccessError, InvalidStateError

MLP = peer_programs.path("mlp_dynamic")


def record(folder: Path, runs: int = 2, debug_buffer_size: int = 1 << 16) -> tuple[bytes, bytes]:
    program = Runtime.get().load_program(MLP, enable_etdump=True, debug_buffer_size=debug_buffer_size)
    method = program.load_method("forward")
    assert method is not None
    for _ in range(runs):
        method.execute(peer_programs.inputs("mlp_dynamic"))
    program.write_etdump_result_to_file(str(folder / "trace.etdp"), str(folder / "debug.bin"))
    return (folder / "trace.etdp").read_bytes(), (folder / "debug.bin").read_bytes()


def test_a_trace_has_loading_executions_and_operators(tmp_path: Path) -> None:
    data, _ = record(tmp_path)
    trace = read_trace(data)
    assert trace.missing == []
    assert [run.name for run in trace.runs] == ["Default", "Execute", "Execute"]
    load = [trace.texts[i] for i in trace.runs[0].profile.name]
    assert load == ["Method::init", "Program::load_method"]
    profile = trace.runs[1].profile
    names = [trace.texts[i] for i in profile.name]
    assert names[-1] == "Method::execute"
    assert {"native_call_addmm.out", "OPERATOR_CALL"} <= set(names)
    durations = (profile.end - profile.start).astype(np.int64)
    assert (durations >= 0).all()
    assert durations[-1] >= durations[[name.startswith("native_call") for name in names]].sum()
    assert profile.instruction[-1] == -1
    assert sorted(set(profile.instruction[:-1])) == list(range(int(profile.instruction.max()) + 1))


def test_recorded_outputs_are_what_the_method_returned(tmp_path: Path) -> None:
    data, debug = record(tmp_path, runs=1)
    outputs = [event for event in read_trace(data).runs[1].debug if event.debug_entry.output is not None]
    (value,) = outputs
    assert value.debug_entry is not None and value.debug_entry.tensor is not None
    tensor = value.debug_entry.tensor
    found = np.frombuffer(debug, np.float32, int(np.prod(tensor.sizes)), tensor.offset).reshape(tensor.sizes)
    np.testing.assert_allclose(found, peer_programs.outputs("mlp_dynamic")[0], **FEW_ROUNDINGS)


def test_both_readers_agree_and_writing_gives_the_same(tmp_path: Path) -> None:
    data, _ = record(tmp_path)
    values = deserialize_from_etdump_flatcc(data)
    assert deserialize_from_etdump_flatcc(serialize_to_etdump_flatcc(values)) == values
    trace = read_trace(data)
    for run, other in zip(values.run_data, trace.runs, strict=True):
        profile = [event.profile_event for event in run.events if event.profile_event is not None]
        assert [event.name for event in profile] == [trace.texts[i] for i in other.profile.name]
        assert [event.end_time for event in profile] == list(other.profile.end)
        assert [event.debug_event for event in run.events if event.debug_event is not None] == other.debug


def test_the_complete_part_of_a_truncated_trace_is_read(tmp_path: Path) -> None:
    data, _ = record(tmp_path, runs=20)
    whole = read_trace(data)
    readable = []
    for size in range(len(data) - 1, 12, -(len(data) // 50)):
        try:
            trace = read_trace(data[:size])
        except MalformedProgramError:
            continue
        assert "truncated" in trace.missing[0]
        readable.append(sum(len(run.profile) for run in trace.runs))
    assert readable[0] > 0.9 * sum(len(run.profile) for run in whole.runs)
    assert readable[len(readable) // 2] > 0


@pytest.mark.parametrize("seed", range(20))
def test_no_bytes_crash_the_reader(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    data = bytearray(serialize_to_etdump_flatcc(_every_kind()))
    for _ in range(8):
        data[random.integers(12, len(data))] = random.integers(256)
    with contextlib.suppress(MalformedProgramError):
        read_trace(bytes(data))


def _every_kind() -> ETDumpFlatCC:
    value = Value(ValueType.INT, int_value=Int(7))
    delegate = ProfileEvent(None, 0, 1, 5, None, b"meta", 1, 2)
    events = [
        Event(ProfileEvent("a", 0, 1)),
        Event(delegate),
        Event(debug_event=DebugEvent(None, 0, 1, debug_entry=value)),
    ]
    return ETDumpFlatCC(0, [RunData("Execute", 3, [], events)])


def test_a_file_without_a_trace_is_refused() -> None:
    for data in (b"", b"no trace at all", MLP.read_bytes()):
        with pytest.raises(MalformedProgramError, match="ED00"):
            read_trace(data)


def test_without_enable_etdump_nothing_is_recorded(tmp_path: Path) -> None:
    program = Runtime.get().load_program(MLP)
    with pytest.raises(InvalidStateError, match="enable_etdump=True"):
        program.write_etdump_result_to_file(str(tmp_path / "trace.etdp"))


def test_a_path_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    program = Runtime.get().load_program(MLP, enable_etdump=True)
    with pytest.raises(InvalidStateError, match="nothing was recorded"):
        program.write_etdump_result_to_file(str(tmp_path / "trace.etdp"))
    program.load_method("forward")
    with pytest.raises(AccessError, match="no/where"):
        program.write_etdump_result_to_file(str(tmp_path / "no" / "where"))


def test_executor_runner_writes_the_same(tmp_path: Path) -> None:
    trace, debug = tmp_path / "trace.etdp", tmp_path / "debug.bin"
    arguments = ["--model_path", str(MLP), "--num_executions", "3", "--etdump_path", str(trace)]
    subprocess.run([command.BINARY, *arguments, "--debug_output_path", str(debug)], check=True, capture_output=True)
    read = read_trace(trace.read_bytes())
    assert [run.name for run in read.runs] == ["Default", "Execute", "Execute", "Execute"]
    assert all(run.debug for run in read.runs[1:])
    assert debug.stat().st_size > 0


@pytest.mark.skipif(not peer.is_installed(), reason=peer.MISSING)
def test_the_reference_inspector_reads_it(tmp_path: Path) -> None:
    record(tmp_path)
    script = (
        "from executorch.devtools import Inspector\n"
        f"blocks = Inspector(etdump_path={str(tmp_path / 'trace.etdp')!r}, "
        f"debug_buffer_path={str(tmp_path / 'debug.bin')!r}).event_blocks\n"
        "print([block.name for block in blocks])\n"
        "print([len(event.perf_data.raw) for event in blocks[1].events if event.name == 'native_call_addmm.out'])\n"
        "print(tuple(blocks[1].run_output[0].shape))\n"
    )
    printed = peer.run_script(script, [], tmp_path)
    shape = peer_programs.outputs("mlp_dynamic")[0].shape
    assert printed.splitlines()[:3] == ["['Default', 'Execute']", "[2, 2]", str(shape)], printed


def test_a_trace_records_the_bytes_of_each_allocator(tmp_path: Path) -> None:
    data, _ = record(tmp_path)
    load, first, second = read_trace(data).runs
    meta = Runtime.get().load_program(MLP).metadata("forward")
    found: dict[str, int] = {}
    for allocator, size in load.allocations:
        found[allocator] = found.get(allocator, 0) + size
    assert found["method allocator"] == meta.method_allocator_size()
    assert found["planned memory"] == sum(meta.memory_planned_buffer_sizes())
    assert first.allocations == second.allocations
    assert {allocator for allocator, _ in first.allocations} <= {"temp allocator"}
