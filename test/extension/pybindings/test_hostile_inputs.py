# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Inputs that raise while they are read, or whose sizes have no strides, are refused with an error."""

import ctypes
import mmap
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.export import Dim

from executorch.exir import to_edge
from executorch.exir.schema import ScalarType, Tensor
from executorch.exir.serialize import deserialize_pte, serialize_pte
from executorch.extension.llm.runner import make_audio_input, make_raw_audio_input
from executorch.runtime import InvalidArgumentError, InvalidTypeError, Method, Runtime


class Both(torch.nn.Module):
    def forward(self, x: torch.Tensor, flag: bool) -> torch.Tensor:
        return x & x if flag else x


class Double(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + x


def _fail(self: object) -> bool:
    raise KeyError("no truth")


# The extension recognizes numpy's bool by this name.
Untrue = type("numpy.bool_", (), {"__bool__": _fail})


def method_of(module: torch.nn.Module, inputs: tuple[Any, ...], **options: Any) -> Method:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = to_edge(torch.export.export(module, inputs, **options)).to_executorch()
    return Runtime.get().load_program(program.buffer).load_method("forward")


@pytest.mark.parametrize("inputs", [[Untrue(), True], [np.ones((), np.bool_), Untrue()]])
def test_a_bool_that_raises_is_refused(inputs: list[Any]) -> None:
    method = method_of(Both(), (torch.ones((), dtype=torch.bool), True))
    with pytest.raises(InvalidArgumentError, match="is not a bool") as error:
        method.execute(inputs)
    assert isinstance(error.value.__cause__, KeyError)
    assert method.execute([np.ones((), np.bool_), True])[0]


def test_a_number_for_a_tensor_of_an_element_type_that_python_lacks_is_refused() -> None:
    exported = torch.export.export(Double(), (torch.ones((), dtype=torch.int64),))
    file = deserialize_pte(to_edge(exported).to_executorch().buffer)
    for value in file.program.execution_plan[0].values:
        if isinstance(value.val, Tensor):
            value.val.scalar_type = ScalarType.QINT32
    program = Runtime.get().load_program(bytes(serialize_pte(file)))
    with pytest.raises(InvalidTypeError, match=r"input 0: expected a \w+ tensor \[\], found int"):
        program.load_method("forward").execute([1])


def test_sizes_without_elements_may_have_no_strides() -> None:
    huge = 2**31 - 1
    method = method_of(Double(), (torch.ones(4, 4, 4, dtype=torch.uint8),), dynamic_shapes=({0: Dim.AUTO},))
    with pytest.raises(InvalidArgumentError, match="found a uint8 tensor"):
        method.execute([np.empty((0, huge, huge), np.uint8)])
    assert method.execute([np.empty((0, 4, 4), np.uint8)])[0].shape == (0, 4, 4)


def test_elements_without_bytes_are_no_numbers_whatever_their_name() -> None:
    # Behind the map's only page, nothing can be read.
    scalar = type("float32", (np.void,), {})
    page = mmap.mmap(-1, mmap.PAGESIZE)
    x = np.ndarray((1,), np.dtype((scalar, [])), page, offset=mmap.PAGESIZE)
    assert (x.dtype.name, x.itemsize) == ("float32", 0)
    method = method_of(Double(), (torch.ones(1),))
    with pytest.raises(InvalidArgumentError, match=r"input 0 is an array of .*, which tensors do not support"):
        method.execute([x])


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_input_that_interrupts_does_interrupt(kind: type[BaseException]) -> None:
    def interrupt(self: object, **_: Any) -> tuple[int, int]:
        raise kind

    tensor = type("Tensor", (), {"__dlpack_device__": interrupt, "__dlpack__": interrupt})()
    method = method_of(Double(), (torch.ones(2, dtype=torch.uint8),))
    with pytest.raises(kind):
        method.execute([tensor])
    assert method.execute([np.ones(2, np.uint8)])[0].tolist() == [2, 2]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, KeyError])
def test_an_iterator_of_inputs_raises_as_it_is(kind: type[BaseException]) -> None:
    def inputs() -> Iterator[Any]:
        raise kind("no more")
        yield

    method = method_of(Double(), (torch.ones(2, dtype=torch.uint8),))
    with pytest.raises(kind, match="no more"):
        method.execute(inputs())  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [2**63, 2**40, 4097])
def test_more_threads_than_a_system_has_are_refused(count: int) -> None:
    method = method_of(Double(), (torch.ones(2, dtype=torch.uint8),))
    with pytest.raises(InvalidArgumentError, match="expected from 1 to 4096 threads"):
        method.execute_async([np.ones(2, np.uint8)], threads=count)


class DlpackTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
        ("manager_context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


def producer_of(tensor: DlpackTensor) -> object:
    """An object whose capsule has this description."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    capsule = new(ctypes.addressof(tensor), b"dltensor", None)
    own = {"__dlpack_device__": lambda self: (1, 0), "__dlpack__": lambda self, **_: capsule}
    return type("Tensor", (), own)()


@pytest.mark.parametrize(
    ("lie", "message"),
    [
        ({"ndim": -1}, "has -1 dimensions"),
        ({"ndim": 2**31 - 1}, "has 2147483647 dimensions"),
        ({"shape": None}, "has 1 dimensions without sizes"),
        ({"data": None}, "has no memory"),
        ({"device_type": 2}, "is on DLPack device type 2"),
        ({"lanes": 4}, "has DLPack element type code 1"),
        ({"bits": 0}, "has DLPack element type code 1"),
        ({"code": 99}, "has DLPack element type code 99"),
    ],
)
def test_a_dlpack_capsule_with_inconsistent_fields_is_refused(lie: dict[str, int | None], message: str) -> None:
    data = np.ones(2, np.uint8)
    sizes = (ctypes.c_int64 * 1)(2)
    fields = {"data": data.ctypes.data, "device_type": 1, "ndim": 1, "code": 1, "bits": 8, "lanes": 1}
    tensor = DlpackTensor(**{**fields, "shape": ctypes.addressof(sizes), **lie})
    method = method_of(Double(), (torch.ones(2, dtype=torch.uint8),))
    with pytest.raises(InvalidArgumentError, match=message):
        method.execute([producer_of(tensor)])


def test_sizes_and_strides_may_overflow() -> None:
    # Found by UndefinedBehaviorSanitizer alone: test/python_sanitizer.sh.
    method = method_of(Double(), (torch.ones(1),))
    assert method.execute([torch.empty_strided((1,), (2**62,)).fill_(2)])[0].tolist() == [4]
    sizes = (ctypes.c_int64 * 3)(2**40, 2**40, 2**40)
    fields = {"device_type": 1, "ndim": 3, "code": 2, "bits": 32, "lanes": 1}
    tensor = DlpackTensor(**fields, shape=ctypes.addressof(sizes))
    with pytest.raises(InvalidArgumentError, match="expected a float32 tensor"):
        method.execute([producer_of(tensor)])


@pytest.mark.filterwarnings("ignore:no memory is planned for:UserWarning")
def test_an_expanded_input_has_too_many_bytes_to_count() -> None:
    method = method_of(Double(), (torch.ones(4, 4, dtype=torch.float64),), dynamic_shapes=({0: Dim("n")},))
    # 2^61 + 8 elements: their bytes wrap around to 64.
    huge = torch.ones(1, dtype=torch.float64).expand(2147352580, 1073807362)
    with pytest.raises(InvalidArgumentError, match="expected a float64 tensor"):
        method.execute([huge])
    assert method.execute([torch.ones(2, 4, dtype=torch.float64)])[0].shape == (2, 4)


@pytest.mark.parametrize("make", [make_audio_input, make_raw_audio_input])
def test_expanded_audio_has_too_many_bytes_to_count(make: Callable[[Any], Any]) -> None:
    # 2^64 + 4 elements.
    data, sizes = np.ones(1, np.uint8), (ctypes.c_int64 * 3)(769546, 494770, 48448661)
    strides = (ctypes.c_int64 * 3)()
    fields = {"data": data.ctypes.data, "device_type": 1, "ndim": 3, "code": 1, "bits": 8, "lanes": 1}
    tensor = DlpackTensor(**fields, shape=ctypes.addressof(sizes), strides=ctypes.addressof(strides))
    with pytest.raises(InvalidArgumentError, match="expected a tensor with fewer elements"):
        make(producer_of(tensor))
