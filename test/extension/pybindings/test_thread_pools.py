# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Thread pools from Python: sizes, choices for a program and a method, methods that run at once."""

import threading

import numpy as np
import peer_programs
import pytest
from oracle.models.xnnpack_runtime import HAS_XNNPACK

from executorch.extension.pybindings import portable_lib
from executorch.runtime import InvalidArgumentError, NotSupportedError, Runtime, ThreadPool

needs_workers = pytest.mark.skipif(not HAS_XNNPACK, reason="the thread pool's workers come with XNNPACK")


def test_the_default_pool_can_be_reset() -> None:
    before = portable_lib._threadpool_get_thread_count()
    assert before >= 1
    portable_lib._unsafe_reset_threadpool(1)
    assert portable_lib._threadpool_get_thread_count() == 1
    portable_lib._unsafe_reset_threadpool(0)
    assert portable_lib._threadpool_get_thread_count() == before == ThreadPool().num_threads


@pytest.mark.parametrize("count", [-1, 5000])
def test_an_invalid_number_of_threads_is_refused(count: int) -> None:
    with pytest.raises(InvalidArgumentError, match=rf"from 1 to 4096 threads, found {count}"):
        ThreadPool(count)
    with pytest.raises(InvalidArgumentError, match="threads"):
        portable_lib._unsafe_reset_threadpool(count)


def test_threads_that_cannot_be_created_are_refused() -> None:
    if HAS_XNNPACK:
        assert ThreadPool(3).num_threads == 3
        return
    with pytest.raises(NotSupportedError, match="there cannot be 3 threads"):
        ThreadPool(3)


def test_a_method_is_loaded_once_for_each_choice() -> None:
    pool = ThreadPool(1)
    program = Runtime.get().load_program(peer_programs.path("add"), threads=pool)
    assert program.load_method("forward") is program.load_method("forward")
    assert program.load_method("forward", threads=pool) is not program.load_method("forward")
    assert program.load_method("forward", threads=pool) is program.load_method("forward", threads=pool)
    with pytest.raises(InvalidArgumentError, match="threads"):
        program.load_method("forward", threads=0)


@needs_workers
def test_methods_on_one_pool_or_on_several_run_at_once() -> None:
    pools: list[ThreadPool | int | None] = [None, 2, ThreadPool(2), ThreadPool(3), 1]
    program = Runtime.get().load_program(peer_programs.path("add"))
    method_inputs = [(program.load_method("forward", threads=pool), pool) for pool in pools]
    shape = method_inputs[0][0].metadata.input_tensor_meta(0).sizes()
    wrong: list[object] = []

    def run(index: int) -> None:
        method, pool = method_inputs[index]
        x = np.full(shape, index, np.float32)
        for _ in range(20):
            if not np.array_equal(method.execute([x, x])[0], x + x):
                wrong.append(pool)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(pools))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
