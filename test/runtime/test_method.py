# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Methods of executorch.runtime: results, state, and the lifetime of inputs and outputs."""

import gc
import sys
import threading
from typing import Any

import numpy as np
import peer_programs
import pytest
from oracle.tolerances import FEW_ROUNDINGS

from executorch.runtime import InvalidArgumentError, InvalidTypeError, Method, Runtime

PROGRAMS = [
    ("add", "forward"),
    ("add_unplanned", "forward"),
    ("add_channels_last", "forward"),
    ("mlp_dynamic", "forward"),
    ("multi_method", "encode"),
    ("multi_method", "decode"),
    ("cond", "forward"),
    ("counter", "forward"),
    ("conv", "forward"),
]


def load(name: str, method: str = "forward") -> Method:
    return Runtime.get().load_program(peer_programs.path(name)).load_method(method)


@pytest.mark.parametrize(("name", "method"), PROGRAMS)
def test_a_program_of_the_reference_computes_what_eager_torch_computes(name: str, method: str) -> None:
    outputs = load(name, method).execute(peer_programs.inputs(name, method))
    expected = peer_programs.outputs(name, method)
    assert len(outputs) == len(expected)
    for output, value in zip(outputs, expected, strict=True):
        assert output.dtype == value.dtype
        np.testing.assert_allclose(output, value, **FEW_ROUNDINGS)


def test_both_branches_of_a_condition_run() -> None:
    method = load("cond")
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(method.execute([np.array(True), x])[0], x + 1)
    np.testing.assert_array_equal(method.execute([np.array(False), x])[0], x * 2)


@pytest.mark.parametrize("batch", [1, 5, 16, 2])
def test_a_dynamic_size_takes_every_value_up_to_its_bound(batch: int) -> None:
    method = load("mlp_dynamic")
    x = np.random.default_rng(batch).standard_normal((batch, 8)).astype(np.float32)
    (whole,) = method.execute([x])
    assert whole.shape == (batch, 4)
    for row in range(batch):
        np.testing.assert_allclose(method.execute([x[row : row + 1]])[0][0], whole[row], **FEW_ROUNDINGS)


def test_state_is_kept_between_calls_and_belongs_to_the_method() -> None:
    program = Runtime.get().load_program(peer_programs.path("counter"))
    method = program.load_method("forward")
    x = np.ones(3, np.float32)
    assert [float(method.execute([x])[0][0]) for _ in range(3)] == [1, 2, 3]
    other = Runtime.get().load_program(peer_programs.path("counter")).load_method("forward")
    assert float(other.execute([x])[0][0]) == 1


def test_outputs_outlive_the_next_call_and_the_method() -> None:
    data = peer_programs.path("add").read_bytes()
    program = Runtime.get().load_program(data)
    method = program.load_method("forward")
    x = np.ones((2, 3), np.float32)
    (first,) = method.execute([x, x])
    (second,) = method.execute([x, x * 4])
    assert first.flags.owndata and first.flags.writeable
    del data, program, method, x
    gc.collect()
    np.testing.assert_array_equal(first, np.full((2, 3), 2, np.float32))
    np.testing.assert_array_equal(second, np.full((2, 3), 5, np.float32))


@pytest.mark.parametrize("name", ["add", "add_unplanned"])
def test_views_show_the_methods_memory_and_keep_it_alive(name: str) -> None:
    method = load(name)
    x = np.ones((2, 3), np.float32)
    (view,) = method.execute([x, x], clone_outputs=False)
    np.testing.assert_array_equal(view, x + x)
    method.execute([x, x * 9], clone_outputs=False)
    np.testing.assert_array_equal(view, x * 10)
    del method
    gc.collect()
    np.testing.assert_array_equal(view, x * 10)


def test_inputs_are_released_after_the_call() -> None:
    method = load("add_unplanned")
    x = np.ones((2, 3), np.float32)
    before = sys.getrefcount(x)
    method.execute([x, x])
    assert sys.getrefcount(x) == before


def test_inputs_are_released_after_a_failed_call() -> None:
    method = load("add_unplanned")
    x = np.ones((2, 3), np.float32)
    before = sys.getrefcount(x)
    with pytest.raises(InvalidArgumentError):
        method.execute([x, x[:1]])
    assert sys.getrefcount(x) == before


class TestWrongInputs:
    """An error refuses wrong inputs and says what and where; the method then works as before."""

    good = np.ones((2, 3), np.float32)

    @pytest.mark.parametrize(
        ("inputs", "error", "message"),
        [
            ((), InvalidArgumentError, r"forward\(\): expected 2 inputs, found 0"),
            ((good,), InvalidArgumentError, r"expected 2 inputs, found 1"),
            ((good, good, good), InvalidArgumentError, r"expected 2 inputs, found 3"),
            (
                (good, good.astype(np.int64)),
                InvalidArgumentError,
                r"forward\(\): input 1: expected a float32 tensor \[2, 3\], found a int64 tensor \[2, 3\]",
            ),
            ((good[0], good), InvalidArgumentError, r"input 0: expected .*\[2, 3\], found .*\[3\]"),
            ((good, good[:1]), InvalidArgumentError, r"input 1: expected .*\[2, 3\], found .*\[1, 3\]"),
            ((good, np.ones((3, 2), np.float32)), InvalidArgumentError, r"input 1: .* found .*\[3, 2\]"),
            ((good, np.ones((9, 9), np.float32)), InvalidArgumentError, r"input 1: .* found .*\[9, 9\]"),
            ((good, 1.0), InvalidTypeError, r"input 1: expected a float32 tensor \[2, 3\], found float"),
            ((None, good), InvalidTypeError, r"input 0: expected .*, found NoneType"),
            ((good, object()), InvalidTypeError, r"input 1: .* found object"),
            ((good, [1.0, 2.0]), InvalidTypeError, r"input 1: .* found list"),
            ((good, "text"), InvalidTypeError, r"input 1: .* found str"),
            ((good, good.astype(">f4")), InvalidArgumentError, r"input 1 is an array of >f4"),
            ((good, good.astype(np.longdouble)), InvalidArgumentError, r"input 1 is an array of (float128|longdouble)"),
            ((good, np.array([["a"] * 3] * 2)), InvalidArgumentError, r"input 1 is an array of <U1"),
            ((good, np.full((2, 3), None)), InvalidArgumentError, r"input 1 is an array of object"),
            ((good, np.ones((1,) * 17, np.float32)), InvalidArgumentError, r"17 dimensions; at most 16"),
            ((good, np.broadcast_to(np.float32(1), (1 << 40, 1 << 20))), InvalidArgumentError, r"1099511627776"),
            (7, InvalidTypeError, r"expected a list or tuple of inputs, found int"),
            ("ab", InvalidTypeError, r"expected a list or tuple of inputs, found str"),
            (None, InvalidTypeError, r"expected a list or tuple of inputs, found NoneType"),
        ],
    )
    def test_are_refused(self, inputs: Any, error: type[Exception], message: str) -> None:
        method = load("add")
        with pytest.raises(error, match=message):
            method.execute(inputs)
        np.testing.assert_array_equal(method.execute([self.good, self.good])[0], self.good * 2)

    def test_name_the_bound_of_a_dynamic_size(self) -> None:
        with pytest.raises(InvalidArgumentError, match=r"of at most \[16, 8\], found a float32 tensor \[17, 8\]"):
            load("mlp_dynamic").execute([np.ones((17, 8), np.float32)])
        with pytest.raises(InvalidArgumentError, match=r"found a float32 tensor \[1, 9\]"):
            load("mlp_dynamic").execute([np.ones((1, 9), np.float32)])

    def test_print_nothing(self, capfd: pytest.CaptureFixture[str]) -> None:
        method = load("add")
        with pytest.raises(InvalidArgumentError):
            method.execute([self.good, self.good[:1]])
        assert capfd.readouterr() == ("", "")

    def test_are_runtime_and_value_errors(self) -> None:
        with pytest.raises(RuntimeError) as caught:
            load("add").execute([self.good, self.good[:1]])
        assert isinstance(caught.value, ValueError)


class TestThreads:
    def run_all(self, work: Any, count: int = 4) -> None:
        failures: list[BaseException] = []

        def guarded(index: int) -> None:
            try:
                work(index)
            except BaseException as error:  # noqa: BLE001 - reported by the main thread
                failures.append(error)

        threads = [threading.Thread(target=guarded, args=(index,)) for index in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures

    def test_with_a_method_each_of_one_program_are_right(self) -> None:
        program = Runtime.get().load_program(peer_programs.path("multi_method"))
        expected = {name: peer_programs.outputs("multi_method", name)[0] for name in ("encode", "decode")}
        methods = {name: program.load_method(name) for name in expected}
        inputs = peer_programs.inputs("multi_method", "encode")

        def work(index: int) -> None:
            name = ("encode", "decode")[index]
            for _ in range(200):
                np.testing.assert_allclose(methods[name].execute(inputs)[0], expected[name], **FEW_ROUNDINGS)

        self.run_all(work, count=2)

    def test_that_share_a_method_take_turns(self) -> None:
        method = load("add")

        def work(index: int) -> None:
            x = np.full((2, 3), index, np.float32)
            for _ in range(200):
                np.testing.assert_array_equal(method.execute([x, x])[0], x * 2)

        self.run_all(work)

    def test_may_load_at_once(self) -> None:
        def work(index: int) -> None:
            for _ in range(20):
                x = np.full((2, 3), index, np.float32)
                np.testing.assert_array_equal(load("add").execute([x, x])[0], x * 2)

        self.run_all(work)

    def test_may_load_one_method_of_one_program_at_once(self) -> None:
        program = Runtime.get().load_program(peer_programs.path("add"))
        methods: list[Method] = []
        self.run_all(lambda index: methods.append(program.load_method("forward")))
        assert len(set(map(id, methods))) == 1
