# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Accepted kinds and layouts of input tensors, and the kinds of the returned tensors."""

import array
import gc
import threading
from typing import Any

import numpy as np
import peer_programs
import pytest
import torch
from oracle.tolerances import ONE_ROUNDING

from executorch.extension.pybindings.portable_lib import ExecuTorchMethod, Tensor, _load_program
from executorch.runtime import InvalidArgumentError, InvalidStateError

DTYPES = (
    torch.float32, torch.float64, torch.float16, torch.bfloat16,
    torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool,
)  # fmt: skip


def load(name: str, method: str = "forward") -> ExecuTorchMethod:
    return _load_program(str(peer_programs.path(name))).load_method(method)


def dtype_inputs() -> list[torch.Tensor]:
    arrays = peer_programs.inputs("dtypes")
    return [torch.from_numpy(a).view(dtype) for a, dtype in zip(arrays, DTYPES, strict=True)]


class DlpackOnly:
    """A library that offers nothing but `__dlpack__`, in the form of before or after versions."""

    def __init__(self, tensor: torch.Tensor, versioned: bool) -> None:
        self.tensor = tensor
        self.versioned = versioned

    def __dlpack__(self, **options: Any) -> Any:
        if options and not self.versioned:
            raise TypeError("unexpected keyword argument")
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class Standard(DlpackOnly):
    """An array of a library that follows the array API standard."""

    def __array_namespace__(self) -> Any:
        return StandardLibrary


class StandardLibrary:
    @staticmethod
    def from_dlpack(tensor: Any) -> Standard:
        return Standard(torch.from_dlpack(tensor), versioned=True)


X = np.arange(6, dtype=np.float32).reshape(2, 3)

TENSORS: dict[str, Any] = {
    "numpy": X,
    "numpy subclass": X.view(type("Sub", (np.ndarray,), {})),
    "transposed": np.ascontiguousarray(X.T).T,
    "sliced": np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": X[::-1, ::-1].copy()[::-1, ::-1],
    "unaligned": np.frombuffer(b"x" + X.tobytes(), np.uint8)[1:].view(np.float32).reshape(2, 3),
    "read-only": np.frombuffer(X.tobytes(), np.float32).reshape(2, 3),
    "memoryview": memoryview(X),
    "array.array": memoryview(array.array("f", X.ravel().tolist())).cast("B").cast("f", (2, 3)),
    "torch": torch.from_numpy(X),
    "torch transposed": torch.from_numpy(X.T.copy()).t(),
    "torch expanded view": torch.from_numpy(X)[None].expand(4, 2, 3)[2],
    "torch with gradient": torch.from_numpy(X).clone().requires_grad_(),
    "torch parameter": torch.nn.Parameter(torch.from_numpy(X)),
    "dlpack": DlpackOnly(torch.from_numpy(X), versioned=True),
    "old dlpack": DlpackOnly(torch.from_numpy(X), versioned=False),
    "array standard": Standard(torch.from_numpy(X), versioned=True),
}


@pytest.mark.parametrize("name", ["add", "add_unplanned"])
@pytest.mark.parametrize("kind", TENSORS)
def test_every_kind_and_layout_is_read(kind: str, name: str) -> None:
    tensor = TENSORS[kind]
    (output,) = load(name)([tensor, tensor])
    value = output.tensor if isinstance(output, DlpackOnly) else output
    np.testing.assert_array_equal(np.asarray(value), X * 2)


@pytest.mark.parametrize(
    ("kind", "output"),
    [
        ("numpy", np.ndarray),
        ("memoryview", np.ndarray),
        ("torch", torch.Tensor),
        ("torch parameter", torch.Tensor),
        ("dlpack", np.ndarray),
        ("array standard", Standard),
    ],
)
def test_outputs_are_of_the_kind_of_the_first_input(kind: str, output: type) -> None:
    assert type(load("add")([TENSORS[kind], TENSORS["numpy"]])[0]) is output


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_channels_last_is_taken_and_given_as_it_is(kind: str) -> None:
    arrays = peer_programs.inputs("add_channels_last")
    inputs: list[Any] = [torch.from_numpy(a).to(memory_format=torch.channels_last) for a in arrays]
    expected = torch.from_numpy(peer_programs.outputs("add_channels_last")[0])
    (output,) = load("add_channels_last")([t.numpy() for t in inputs] if kind == "numpy" else inputs)
    output = torch.as_tensor(output)
    assert output.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(output, expected)


def test_a_negated_view_is_read_with_its_sign() -> None:
    x = torch.complex(torch.zeros(2, 3), torch.from_numpy(X)).conj().imag
    assert x.is_neg()
    method = _load_program(str(peer_programs.path("add"))).load_method("forward")
    assert torch.equal(method([x, x])[0], x + x)


def test_another_layout_than_channels_last_is_copied() -> None:
    contiguous = [np.ascontiguousarray(a) for a in peer_programs.inputs("add_channels_last")]
    np.testing.assert_allclose(
        load("add_channels_last")(contiguous)[0],
        peer_programs.outputs("add_channels_last")[0],
        rtol=ONE_ROUNDING["rtol"],
    )


def test_every_dtype_of_torch_is_returned() -> None:
    inputs = dtype_inputs()
    for output, given in zip(load("dtypes")(inputs), inputs, strict=True):
        assert output.dtype == given.dtype
        assert torch.equal(output, torch.cat([given, given]))


def test_every_dtype_of_numpy_is_returned_and_bfloat16_as_our_tensor() -> None:
    inputs: list[Any] = dtype_inputs()
    numpy_inputs = [t if t.dtype == torch.bfloat16 else t.numpy() for t in inputs]
    for output, given in zip(load("dtypes")(numpy_inputs), inputs, strict=True):
        if given.dtype == torch.bfloat16:
            assert isinstance(output, Tensor)
            assert (output.shape, output.dtype, output.nbytes) == ((8,), "bfloat16", 16)
            assert output.tobytes() == torch.cat([given, given]).view(torch.uint8).numpy().tobytes()
            assert output.__dlpack_device__() == (1, 0)
        else:
            assert isinstance(output, np.ndarray)
        assert torch.equal(torch.from_dlpack(output), torch.cat([given, given]))


def test_our_tensor_is_accepted_as_an_input() -> None:
    inputs: list[Any] = dtype_inputs()
    inputs[0] = inputs[0].numpy()
    outputs = load("dtypes")(inputs)
    inputs[3] = DlpackOnly(torch.from_dlpack(outputs[3])[:4], versioned=True)
    assert torch.equal(torch.from_dlpack(load("dtypes")(inputs)[3])[:4], dtype_inputs()[3])


def test_outputs_of_torch_outlive_everything() -> None:
    method = load("add")
    (copy,) = method([torch.ones(2, 3), torch.ones(2, 3)])
    (view,) = method([torch.ones(2, 3), torch.ones(2, 3)], clone_outputs=False)
    method([torch.ones(2, 3), torch.zeros(2, 3)], clone_outputs=False)
    del method
    gc.collect()
    assert torch.equal(copy, torch.full((2, 3), 2.0))
    assert torch.equal(view, torch.full((2, 3), 1.0))
    worker = threading.Thread(target=view.add_, args=(1,))
    worker.start()
    worker.join()
    del view
    gc.collect()


def test_a_view_never_shows_an_inputs_memory() -> None:
    method = load("add_unplanned")
    x = np.ones((2, 3), np.float32)
    (view,) = method([x, x], clone_outputs=False)
    assert not np.shares_memory(view, x)


def test_inputs_are_not_written_to() -> None:
    for name in ("add", "add_unplanned"):
        x = np.ones((2, 3), np.float32)
        load(name)([x, x])
        np.testing.assert_array_equal(x, np.ones((2, 3)))


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (torch.zeros(2, 3, device="meta"), "cannot be read through DLPack"),
        (torch.zeros(2, 3).to_sparse(), "cannot be read through DLPack"),
        (memoryview(b"abcdef").cast("c"), "buffer of format 'c'"),
    ],
)
def test_tensors_that_cannot_be_read_are_refused(tensor: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=rf"forward\(\): input 1 .*{message}"):
        load("add")([torch.zeros(2, 3), tensor])


def test_a_broken_dlpack_object_is_refused() -> None:
    class Broken:
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("no memory today")

    class Lying:
        def __dlpack__(self, **options: Any) -> Any:
            return 7

    with pytest.raises(InvalidArgumentError, match="no memory today") as caught:
        load("add")([Broken(), X])
    assert isinstance(caught.value.__cause__, BufferError)
    with pytest.raises(InvalidArgumentError, match="no DLPack capsule"):
        load("add")([Lying(), X])


def test_a_single_tensor_is_taken_as_a_sequence_of_one() -> None:
    x = np.ones((2, 8), np.float32)
    np.testing.assert_array_equal(load("mlp_dynamic")(x)[0], load("mlp_dynamic")([x])[0])  # type: ignore[arg-type]


def test_a_list_that_changes_while_it_is_read_is_refused() -> None:
    inputs: list[Any] = []

    class Shrinking(DlpackOnly):
        def __dlpack__(self, **options: Any) -> Any:
            inputs.clear()
            return super().__dlpack__(**options)

    inputs += [Shrinking(torch.ones(2, 3), versioned=True), X]
    with pytest.raises(InvalidArgumentError, match="changed meanwhile"):
        load("add")(inputs)


def test_a_method_called_back_from_its_own_call_is_refused() -> None:
    method = load("add")

    class Calling(DlpackOnly):
        def __dlpack__(self, **options: Any) -> Any:
            method([X, X])
            return super().__dlpack__(**options)

    with pytest.raises(InvalidArgumentError, match="running in this thread already"):
        method([Calling(torch.ones(2, 3), versioned=True), X])
    np.testing.assert_array_equal(method([X, X])[0], X * 2)


class Resizing(DlpackOnly):
    """An input that gives another one other memory while it is read."""

    def __init__(self, other: Any) -> None:
        super().__init__(torch.ones(2, 3), versioned=True)
        self.other = other

    def __dlpack__(self, **options: Any) -> Any:
        if isinstance(self.other, np.ndarray):
            self.other.resize(1 << 20, refcheck=False)
        else:
            self.other.resize_(1 << 20)
        return super().__dlpack__(**options)


OTHER_MEMORY = r"forward\(\): input 0: expected the memory of float32 tensor \[2, 3\] as it was"


@pytest.mark.parametrize("other", [torch.ones(2, 3), np.ones((2, 3), np.float32)], ids=["torch", "numpy"])
def test_an_input_that_another_one_gives_other_memory_is_refused(other: Any) -> None:
    method = load("add_unplanned")
    with pytest.raises(InvalidArgumentError, match=OTHER_MEMORY):
        method([other, Resizing(other)])
    np.testing.assert_array_equal(method([X, X])[0], X * 2)


def test_an_input_with_other_memory_than_it_was_set_with_is_refused() -> None:
    method, x = load("add_unplanned"), torch.ones(2, 3)
    method.set_inputs([x, torch.ones(2, 3)])
    x.resize_(1 << 20)
    with pytest.raises(InvalidArgumentError, match=OTHER_MEMORY):
        method.execute()
    with pytest.raises(InvalidStateError, match="the inputs are not set"):
        method.execute()
