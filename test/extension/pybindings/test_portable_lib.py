# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The documented module `portable_lib`."""

from pathlib import Path
from typing import Any

import numpy as np
import peer_programs
import pytest
from oracle.tolerances import FEW_ROUNDINGS

from executorch.extension.pybindings import portable_lib
from executorch.extension.pybindings.portable_lib import (
    ExecuTorchModule,
    Verification,
    _get_operator_names,
    _load_for_executorch,
    _load_for_executorch_from_buffer,
    _load_program,
    _load_program_from_buffer,
)
from executorch.runtime import InvalidStateError, MethodNotFoundError, NotFoundError, NotSupportedError

X = np.ones((2, 3), np.float32)


def module(name: str) -> ExecuTorchModule:
    return _load_for_executorch(str(peer_programs.path(name)))


def test_a_module_runs_its_methods() -> None:
    add = module("add")
    np.testing.assert_array_equal(add.forward([X, X])[0], X * 2)
    np.testing.assert_array_equal(add([X, X])[0], X * 2)
    np.testing.assert_array_equal(add.run_method("forward", (X, X))[0], X * 2)
    assert add.method_names() == ["forward"]
    assert add.method_meta("forward").num_inputs() == 2
    assert not add.has_etdump()


def test_a_module_loads_from_a_buffer() -> None:
    add = _load_for_executorch_from_buffer(
        peer_programs.path("add").read_bytes(), program_verification=Verification.Minimal
    )
    np.testing.assert_array_equal(add.forward([X, X], clone_outputs=False)[0], X * 2)


def test_every_method_of_a_module_runs() -> None:
    both = module("multi_method")
    inputs = peer_programs.inputs("multi_method", "encode")
    for name in both.method_names():
        expected = peer_programs.outputs("multi_method", name)[0]
        np.testing.assert_allclose(both.run_method(name, inputs)[0], expected, **FEW_ROUNDINGS)
    with pytest.raises(MethodNotFoundError, match="'forward'"):
        both.forward(inputs)


def test_a_method_runs_in_steps() -> None:
    method = _load_program(str(peer_programs.path("add"))).load_method("forward")
    with pytest.raises(InvalidStateError, match=r"forward\(\): the inputs are not set"):
        method.execute()
    with pytest.raises(InvalidStateError, match=r"forward\(\) must run before"):
        method.get_outputs()
    method.set_inputs([X.copy(), X.copy()])
    method.execute()
    np.testing.assert_array_equal(method.get_outputs()[0], X * 2)
    assert method.method_meta().name() == "forward"


def test_inputs_of_a_call_are_not_those_of_the_next() -> None:
    method = _load_program(str(peer_programs.path("add_unplanned"))).load_method("forward")
    method([X, X])
    with pytest.raises(InvalidStateError, match="inputs are not set"):
        method.execute()
    with pytest.raises(InvalidStateError, match="inputs are not set"):
        module("add").plan_execute("forward")


def test_an_attribute_is_the_methods_own_memory() -> None:
    method = _load_program(str(peer_programs.path("counter"))).load_method("forward")
    meta = method.method_meta()
    if meta.num_attributes() == 0:
        with pytest.raises(NotFoundError, match="no attribute 'total'"):
            method.get_attribute("total")
        return
    total = method.get_attribute(meta.attribute_tensor_meta(0).name())
    method([np.ones(3, np.float32)])
    np.testing.assert_array_equal(total, np.ones(3))
    total[:] = 10
    np.testing.assert_array_equal(method([np.ones(3, np.float32)])[0], np.full(3, 11.0))


def test_programs_list_their_methods() -> None:
    program = _load_program_from_buffer(peer_programs.path("multi_method").read_bytes())
    assert {program.get_method_name(i) for i in range(program.num_methods())} == {"encode", "decode"}
    assert not program.has_etdump()


def test_a_program_loaded_for_it_records_events(tmp_path: Path) -> None:
    add = _load_for_executorch(str(peer_programs.path("add")), enable_etdump=True)
    assert add.has_etdump()
    add(peer_programs.inputs("add"))
    add.write_etdump_result_to_file(str(tmp_path / "trace.etdp"))
    assert (tmp_path / "trace.etdp").read_bytes()[8:12] == b"ED00"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("_create_profile_block", ("block",)),
        ("_dump_profile_results", ()),
        ("_reset_profile_results", ()),
    ],
)
def test_a_documented_function_that_is_missing_raises_an_error(name: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(NotSupportedError, match=name):
        getattr(portable_lib, name)(*arguments)


def test_names_that_are_not_text_are_escaped() -> None:
    data = peer_programs.path("add").read_bytes()
    program = _load_program_from_buffer(data.replace(b"forward\0", b"for\xffard\0"))
    assert program.get_method_name(0) == r"for\xffard"
    with pytest.raises(MethodNotFoundError, match=r"it has 'for\\xffard'"):
        program.load_method("forward")


def test_metadata_reads_as_the_documented_text() -> None:
    info = "TensorInfo(sizes=[2, 3], dtype=Float, is_memory_planned=True, nbytes=24)"
    meta = module("add").method_meta("forward")
    assert repr(meta.input_tensor_meta(0)) == info
    assert repr(meta) == (
        f"MethodMeta(name='forward', num_inputs=2, input_tensor_meta=['{info}', '{info}'], "
        f"num_outputs=1, output_tensor_meta=['{info}'])"
    )


def test_operators_are_named_with_their_overload() -> None:
    assert "aten::add.out" in _get_operator_names()


def test_arguments_of_wrong_types_are_type_errors() -> None:
    with pytest.raises(TypeError):
        _load_program_from_buffer("text")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        _load_program(b"bytes\xff", 3, "x")  # type: ignore[arg-type]
