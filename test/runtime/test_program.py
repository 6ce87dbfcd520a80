# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Programs of executorch.runtime: sources, metadata, lifetime."""

import gc
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import peer_programs
import pytest

from executorch.runtime import (
    AccessError,
    ExecuTorchError,
    InvalidArgumentError,
    InvalidProgramError,
    MethodNotFoundError,
    Runtime,
    Verification,
)

ADD = peer_programs.path("add")

SOURCES: dict[str, Callable[[Path], Any]] = {
    "path": lambda path: path,
    "str": str,
    "bytes": Path.read_bytes,
    "bytearray": lambda path: bytearray(path.read_bytes()),
    "memoryview": lambda path: memoryview(path.read_bytes()),
    "odd memoryview": lambda path: memoryview(b"x" + path.read_bytes())[1:],
    "file": lambda path: path.open("rb"),
    "BytesIO": lambda path: io.BytesIO(path.read_bytes()),
}


def add_one(program: Any) -> None:
    x = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(program.load_method("forward").execute([x, x])[0], x + x)


@pytest.mark.parametrize("source", SOURCES)
def test_a_program_loads_from(source: str) -> None:
    data = SOURCES[source](ADD)
    program = Runtime.get().load_program(data)
    if hasattr(data, "close"):
        data.close()
    add_one(program)


@pytest.mark.parametrize("verification", [Verification.Minimal, Verification.InternalConsistency])
def test_every_verification_is_accepted(verification: Verification) -> None:
    add_one(Runtime.get().load_program(ADD, verification=verification))


def test_the_runtime_is_one_object() -> None:
    assert Runtime.get() is Runtime.get()


def test_a_method_outlives_program_and_source() -> None:
    data = ADD.read_bytes()
    program = Runtime.get().load_program(data)
    method = program.load_method("forward")
    del program, data
    gc.collect()
    x = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(method.execute([x, x])[0], x + x)


def test_metadata_outlives_its_program() -> None:
    meta = Runtime.get().load_program(ADD.read_bytes()).metadata("forward")
    gc.collect()
    assert meta.name() == "forward"
    assert meta.input_tensor_meta(1).sizes() == (2, 3)


def test_a_bytearray_may_change_after_loading() -> None:
    data = bytearray(ADD.read_bytes())
    program = Runtime.get().load_program(data)
    data[:] = b"\xff" * len(data)
    add_one(program)


def test_a_deleted_file_stays_loaded(tmp_path: Path) -> None:
    copy = tmp_path / "copy.pte"
    copy.write_bytes(ADD.read_bytes())
    program = Runtime.get().load_program(copy)
    copy.unlink()
    add_one(program)


def test_method_names_are_a_set() -> None:
    assert Runtime.get().load_program(peer_programs.path("multi_method")).method_names == {"encode", "decode"}


def test_a_method_is_loaded_once() -> None:
    program = Runtime.get().load_program(ADD)
    assert program.load_method("forward") is program.load_method("forward")


def test_metadata_describes_inputs_outputs_and_memory() -> None:
    meta = Runtime.get().load_program(ADD).metadata("forward")
    assert (meta.name(), meta.num_inputs(), meta.num_outputs(), meta.num_attributes()) == ("forward", 2, 1, 0)
    info = meta.input_tensor_meta(0)
    assert (info.sizes(), info.dtype(), info.dtype_name(), info.nbytes()) == ((2, 3), 6, "float32", 24)
    assert info.dim_order() == (0, 1)
    assert info.is_memory_planned()
    assert "sizes=[2, 3]" in repr(info)
    assert repr(info) in repr(meta)
    assert meta.operators() == ["aten::add.out"]
    assert meta.backends() == []
    assert meta.num_instructions() == 1
    assert sum(meta.memory_planned_buffer_sizes()) >= 72
    assert meta.method_allocator_size() > 0


@pytest.mark.parametrize("what", ["input", "output", "attribute"])
def test_an_index_out_of_range_is_an_index_error(what: str) -> None:
    meta = Runtime.get().load_program(ADD).metadata("forward")
    with pytest.raises(IndexError, match=f"{what}s, not number 7"):
        getattr(meta, f"{what}_tensor_meta")(7)


def test_mutable_buffers_are_attributes_by_name() -> None:
    meta = Runtime.get().load_program(peer_programs.path("counter")).metadata("forward")
    for index in range(meta.num_attributes()):
        assert meta.attribute_tensor_meta(index).name()


@pytest.mark.parametrize("call", ["load_method", "metadata"])
def test_an_unknown_method_is_refused_by_name(call: str) -> None:
    program = Runtime.get().load_program(peer_programs.path("multi_method"))
    with pytest.raises(MethodNotFoundError, match=r"no method 'nope'.*'(de|en)code', '(de|en)code'") as caught:
        getattr(program, call)("nope")
    assert isinstance(caught.value, KeyError)


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(AccessError, match="no_such_file"):
        Runtime.get().load_program(tmp_path / "no_such_file.pte")


@pytest.mark.parametrize("data", [b"", b"x", b"\0" * 64, b"ET12" * 100, bytes(range(256)) * 8])
def test_bytes_that_are_not_a_program_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidProgramError, match=f"a buffer of {len(data)} bytes") as caught:
        Runtime.get().load_program(data)
    assert caught.value.details


def test_a_program_cut_anywhere_is_refused() -> None:
    data = ADD.read_bytes()
    for size in range(0, len(data), 7):
        with pytest.raises(ExecuTorchError):
            Runtime.get().load_program(data[:size]).load_method("forward")


def test_a_path_with_a_nul_character_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="expected no NUL character"):
        Runtime.get().load_program(f"{ADD}\0.txt")


def test_a_file_of_text_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="mode 'rb'"):
        Runtime.get().load_program(io.StringIO("text"))  # type: ignore[arg-type]


@pytest.mark.parametrize("data", [3, None, [b"x"]])
def test_other_objects_are_a_type_error(data: Any) -> None:
    with pytest.raises(TypeError, match=type(data).__name__):
        Runtime.get().load_program(data)


def test_registries_list_operators_and_backends() -> None:
    runtime = Runtime.get()
    assert "aten::add.out" in runtime.operator_registry.operator_names
    assert isinstance(runtime.backend_registry.registered_backend_names, list)
    assert not runtime.backend_registry.is_available("NoSuchBackend")
