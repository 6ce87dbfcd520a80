# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Executions on other threads give the bits of sequential execution."""

import gc
import os
import signal
import threading

import numpy as np
import pytest
import torch
from models import make
from oracle.models.xnnpack_runtime import needs_xnnpack
from torch import nn
from torch.export import Dim, export

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from executorch.exir.passes import MemoryPlanningPass
from executorch.runtime import ExecuTorchError, InvalidStateError, NotSupportedError, Runtime
from executorch.runtime.errors import CancelledError, InvalidArgumentError

pytestmark = pytest.mark.sampled(by="file")


class Branches(nn.Module):
    def __init__(self, depth=3, width=4):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(*(nn.Sequential(nn.Linear(16, 16), nn.Tanh()) for _ in range(depth))) for _ in range(width)
        )

    def forward(self, x):
        parts = [layer(x) for layer in self.layers]
        return torch.cat(parts, 1).softmax(1), parts[0] * parts[1]


class Mixed(nn.Module):
    """Branches of control flow, state, views and lists."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(4, 8))

    def forward(self, x, y):
        halves = torch.stack([x, y]).view(2, 4, 8).unbind(0)
        chosen = torch.cond(x.sum() > 0, lambda a, b: a.sin() + b, lambda a, b: a - b.cos(), (x, y))
        before = self.seen.exp()
        self.seen.add_(x)
        return chosen, halves[0] + halves[1], before, self.seen * 2, torch.cat([x, y], 1)[:, 4:12]


def lowered(module, inputs, concurrent=True, **kwargs) -> bytes:
    planner = MemoryPlanningPass(concurrent=concurrent)
    program = to_edge(export(module, inputs, strict=True, **kwargs)).to_executorch(
        ExecutorchBackendConfig(memory_planning_pass=planner)
    )
    return program.buffer


def load(data: bytes, **options):
    return Runtime.get().load_program(data, **options).load_method("forward")


def assert_same_bits(found, expected) -> None:
    assert len(found) == len(expected)
    for left, right in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(left), np.asarray(right))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_branches_give_the_bits_of_sequential_execution(threads: int) -> None:
    data = lowered(Branches(), (torch.randn(8, 16),))
    method, oracle = load(data), load(data)
    for _ in range(20):
        x = torch.randn(8, 16)
        execution = method.execute_async([x], threads=threads)
        assert execution.task_count > 20
        assert_same_bits(execution.result(), oracle.execute([x]))


def test_control_flow_state_views_and_lists_run_in_their_order() -> None:
    data = lowered(Mixed(), (torch.randn(4, 8), torch.randn(4, 8)))
    method, oracle = load(data), load(data)
    for _ in range(10):
        inputs = [torch.randn(4, 8), torch.randn(4, 8)]
        assert_same_bits(method.execute_async(inputs, threads=4).result(), oracle.execute(inputs))
        assert_same_bits(method.execute(inputs), oracle.execute(inputs))


@pytest.mark.parametrize("name", ["mobilenet_v3"])
def test_a_model_gives_the_bits_of_sequential_execution(name: str) -> None:
    model, inputs = make(name)
    data = lowered(model.eval(), inputs)
    assert_same_bits(load(data).execute_async(list(inputs), threads=3).result(), load(data).execute(list(inputs)))


def test_dynamic_sizes_run_at_the_same_time_too() -> None:
    data = lowered(Branches(), (torch.randn(8, 16),), dynamic_shapes=({0: Dim("n", max=8)},))
    method, oracle = load(data), load(data)
    for size in (8, 3, 1, 5):
        x = torch.randn(size, 16)
        execution = method.execute_async([x], threads=3)
        assert execution.task_count > 20
        assert_same_bits(execution.result(), oracle.execute([x]))


class OfLibrary:
    """An array of a library whose from_dlpack() raises at its first call."""

    def __init__(self, array):
        self.array, self.calls = array, 0

    def __array_namespace__(self):
        return self

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        return self.array.__dlpack__()

    def from_dlpack(self, tensor):
        self.calls += 1
        if self.calls == 1:
            raise RuntimeError("not now")
        return np.from_dlpack(tensor)


def test_outputs_that_could_not_be_made_are_made_by_the_next_call() -> None:
    data = lowered(Branches(), (torch.randn(8, 16),))
    x = np.random.default_rng(0).standard_normal((8, 16), np.float32)
    execution = load(data).execute_async([OfLibrary(x)], threads=2)
    with pytest.raises(RuntimeError, match="not now"):
        execution.result()
    assert_same_bits(execution.result(), load(data).execute([x]))
    assert_same_bits(execution.result(), load(data).execute([x]))


def test_outputs_that_several_calls_make_at_the_same_time_are_the_first_ones() -> None:
    execution = None
    inner = []

    class Reentrant(OfLibrary):
        def from_dlpack(self, tensor):
            self.calls += 1
            if self.calls == 1:
                inner.append(execution.result())
            return np.from_dlpack(tensor)

    data = lowered(Branches(), (torch.randn(8, 16),))
    execution = load(data).execute_async([Reentrant(np.ones((8, 16), np.float32))], threads=2)
    outer = execution.result()
    assert outer[0] is inner[0][0]
    assert execution.result()[0] is outer[0]


def test_a_program_planned_for_one_thread_is_one_task() -> None:
    data = lowered(Branches(), (torch.randn(8, 16),), concurrent=False)
    x = torch.randn(8, 16)
    execution = load(data).execute_async([x], threads=2)
    assert execution.task_count == 1
    assert_same_bits(execution.result(), load(data).execute([x]))


def test_an_error_in_a_branch_is_raised_with_the_kernels_message_and_the_method_works_again() -> None:
    class Look(nn.Module):
        def forward(self, table, rows, x):
            return table[rows], x.sin().mm(x).cos().mm(x)

    inputs = (torch.randn(4, 4), torch.tensor([0, 3]), torch.randn(8, 8))
    method = load(lowered(Look(), inputs))
    for _ in range(5):
        execution = method.execute_async([inputs[0], torch.tensor([0, 9]), inputs[2]], threads=2)
        for _ in range(2):
            with pytest.raises(ExecuTorchError, match="index"):
                execution.result()
        assert_same_bits(
            method.execute_async(inputs, threads=2).result(), [inputs[0][[0, 3]], method.execute(inputs)[1]]
        )


def test_until_the_result_is_taken_the_method_does_nothing_else() -> None:
    x = torch.randn(8, 16)
    method = load(lowered(Branches(), (x,)))
    execution = method.execute_async([x], threads=2)
    with pytest.raises(InvalidStateError, match=r"take its result\(\) first"):
        method.execute([x])
    with pytest.raises(InvalidStateError):
        method.execute_async([x])
    first = execution.result()
    assert execution.done() and execution.result() is first
    assert_same_bits(method.execute([x]), first)


def test_several_threads_may_wait_for_one_result() -> None:
    x = torch.randn(8, 16)
    method = load(lowered(Branches(), (x,)))
    expected = method.execute([x])
    for _ in range(20):
        execution = method.execute_async([x], threads=2)
        found: list = []
        waiting = [threading.Thread(target=lambda: found.append(execution.result())) for _ in range(3)]  # noqa: B023
        for thread in waiting:
            thread.start()
        for thread in waiting:
            thread.join()
        assert len(found) == 3 and all(result is found[0] for result in found)
        assert_same_bits(found[0], expected)


def test_a_cancelled_or_dropped_execution_leaves_the_method_usable() -> None:
    x = torch.randn(256, 256)

    class Long(nn.Module):
        def forward(self, x):
            y = x
            for _ in range(200):
                x, y = x.mm(y).tanh(), y.mm(y).tanh()
            return x + y

    method = load(lowered(Long(), (x,)))
    execution = method.execute_async([x], threads=2)
    with pytest.raises(TimeoutError):
        execution.result(timeout=0)
    execution.cancel()
    with pytest.raises(CancelledError):
        execution.result()
    dropped = method.execute_async([x], threads=2)
    del dropped
    gc.collect()
    again = method.execute_async([x], threads=2)
    again.cancel()
    with pytest.raises(CancelledError):
        again.result(timeout=60)


def test_inputs_that_do_not_fit_and_recorded_events_are_refused() -> None:
    data = lowered(Branches(), (torch.randn(8, 16),))
    method = load(data)
    with pytest.raises(InvalidArgumentError):
        method.execute_async([torch.randn(8, 15)])
    assert len(method.execute([torch.randn(8, 16)])) == 2
    with pytest.raises(NotSupportedError, match="one thread"):
        load(data, enable_etdump=True).execute_async([torch.randn(8, 16)])


def test_methods_run_at_the_same_time_on_shared_threads() -> None:
    data = lowered(Branches(), (torch.randn(8, 16),))
    program = Runtime.get().load_program(data)
    methods = [Runtime.get().load_program(data).load_method("forward") for _ in range(3)]
    x = torch.randn(8, 16)
    expected = program.load_method("forward").execute([x])

    def run(method) -> None:
        for _ in range(10):
            assert_same_bits(method.execute_async([x], threads=2).result(), expected)

    threads = [threading.Thread(target=run, args=(method,)) for method in methods]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def threads_of_this_process() -> set[str]:
    return set(os.listdir("/proc/self/task"))


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="threads are counted in /proc")
def test_threads_live_as_long_as_a_method_that_ran_on_them() -> None:
    data, x = lowered(Branches(), (torch.randn(8, 16),)), torch.randn(8, 16)
    before = threads_of_this_process()
    method, other = load(data, threads=1), load(data, threads=1)
    method.execute_async([x], threads=7).result()
    started = threads_of_this_process() - before
    assert len(started) == 7
    for user in (method, other, method):
        user.execute_async([x], threads=7).result()
    assert threads_of_this_process() - before == started
    del method, user
    assert threads_of_this_process() - before == started
    del other
    assert not threads_of_this_process() & started


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork()")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_starts_its_own_threads_and_does_not_wait_for_its_parents() -> None:
    data, x = lowered(Branches(), (torch.randn(8, 16),)), torch.randn(8, 16)
    method, other = load(data, threads=1), load(data, threads=1)
    expected = method.execute_async([x], threads=2).result()
    running = other.execute_async([x], threads=2)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(60)  # instead of waiting for ever
            with pytest.raises(InvalidStateError, match="forked"):
                running.result()
            del running, other
            gc.collect()
            assert_same_bits(method.execute_async([x], threads=2).result(), expected)
            del method
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert_same_bits(running.result(), expected)


@pytest.fixture(scope="module")
def delegated() -> bytes:
    """Branches in which every operator is a separate XNNPACK delegate."""
    edge = to_edge_transform_and_lower(
        export(Branches(), (torch.randn(8, 16),), strict=True), partitioner=[XnnpackPartitioner(per_op_mode=True)]
    )
    planner = MemoryPlanningPass(concurrent=True)
    return edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planner)).buffer


@needs_xnnpack
@pytest.mark.parametrize("mode", [0, 1], ids=["scratch memory each", "scratch memory shared"])
@pytest.mark.parametrize("threads", [1, 2])
def test_delegates_beside_each_other_give_the_bits_of_sequential_execution(
    threads: int, mode: int, delegated: bytes
) -> None:
    """With one thread, and with a pool that all delegates share to divide their work."""
    options = {"XnnpackBackend": {"workspace_sharing_mode": mode}}
    program = Runtime.get().load_program(delegated, threads=threads, backend_options=options)
    method, oracle = program.load_method("forward"), program.load_method("forward")
    for _ in range(20):
        x = torch.randn(8, 16)
        execution = method.execute_async([x], threads=4)
        assert execution.task_count > 20
        assert_same_bits(execution.result(), oracle.execute([x]))
