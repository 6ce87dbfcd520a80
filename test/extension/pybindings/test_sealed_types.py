# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Python code cannot make an object without its C++ value, or with a C++ value of another type."""

import copy
import pickle
from typing import Any

import numpy as np
import peer_programs
import pytest

from executorch.extension.pybindings import _portable_lib as lib
from executorch.runtime import Runtime, ThreadPool, Verification

MODULES = [lib, *(value for value in vars(lib).values() if isinstance(value, type(lib)))]
TYPES = [value for module in MODULES for value in vars(module).values() if isinstance(value, type)]


@pytest.fixture(scope="module")
def objects() -> dict[type, Any]:
    """Return an object of each type that needs no bundled program."""
    program = Runtime.get().load_program(peer_programs.path("add"))
    method = program.load_method("forward")
    meta = program.metadata("forward")
    x = np.ones((2, 3), np.float32)
    execution = method.execute_async([x, x])
    execution.result()
    native_objects = [program._program, method._method, meta, meta.input_tensor_meta(0), execution._execution]
    return {type(instance): instance for instance in [*native_objects, ThreadPool(1), Verification.Minimal]}


def test_the_module_has_types() -> None:
    assert len(TYPES) >= 18


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.__name__)
def test_new_makes_no_object_without_a_value(kind: type) -> None:
    for make in (kind.__new__, *(base.__new__ for base in kind.__mro__[1:])):
        with pytest.raises(TypeError):
            make(kind)


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.__name__)
def test_a_subclass_creates_no_instance(kind: type) -> None:
    def make(base: type) -> object:
        sub = type("Sub", (base,), {"__init__": lambda self: None})
        return sub()

    with pytest.raises(TypeError):
        make(kind)


def test_types_that_can_be_called_still_can() -> None:
    assert ThreadPool(1).num_threads == 1
    assert Verification(0) == Verification.Minimal
    assert pickle.loads(pickle.dumps(Verification.InternalConsistency)) == Verification.InternalConsistency
    assert copy.copy(Verification.Minimal) == Verification.Minimal


def test_an_object_does_not_change_its_type(objects: dict[type, Any]) -> None:
    for instance in objects.values():
        for kind in objects:
            if kind is not type(instance):
                with pytest.raises(TypeError):
                    instance.__class__ = kind


def test_objects_are_not_copied_by_their_state(objects: dict[type, Any]) -> None:
    for kind, obj in objects.items():
        if kind is not Verification:
            with pytest.raises(TypeError):
                copy.copy(obj)


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.__name__)
def test_a_type_does_not_change(kind: type) -> None:
    with pytest.raises(TypeError, match="immutable type"):
        kind.__new__ = object.__new__  # type: ignore[assignment]
