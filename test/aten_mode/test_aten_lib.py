# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The same programs in both modes, with equal results: portable_lib, and aten_lib on at::Tensor and ATen's kernels."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import torch
from aten_mode.modules import Counter, Pooled
from models.function_module import Function
from oracle.tolerances import LAYERS
from torch.export import Dim, export

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from executorch.exir.passes import MemoryPlanningPass
from executorch.extension.pybindings import portable_lib
from executorch.runtime.errors import InvalidArgumentError, InvalidProgramError, OperatorMissingError

IS_BUILT = importlib.util.find_spec("executorch.extension.pybindings._aten_lib") is not None
needs_aten_lib = pytest.mark.skipif(not IS_BUILT, reason="aten_lib is not built (EXECUTORCH_BUILD_ATEN)")
pytestmark = pytest.mark.filterwarnings("ignore:no memory is planned for:UserWarning")

N = Dim("n", min=2, max=16)


def mlp() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 3))


def encoder() -> torch.nn.Module:
    return torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)


def of(function: Callable[..., Any]) -> Callable[[], torch.nn.Module]:
    return lambda: Function(function)


IMAGE = torch.rand(2, 3, 8, 8)
# Name → module, example inputs, dynamic shapes, sizes of the first dimension to run with.
PROGRAMS: dict[str, tuple[Callable[[], torch.nn.Module], tuple[torch.Tensor, ...], Any, tuple[int, ...]]] = {
    "add": (of(lambda x, y: x + 2 * y), (torch.rand(3, 1, 4), torch.rand(2, 4)), None, ()),
    "mm": (of(lambda x, y: (x @ y).relu()), (torch.rand(5, 7), torch.rand(7, 3)), None, ()),
    "ints": (of(lambda x: (x * 3 // 2, x.sum(0), x > 4, x % 5)), (torch.arange(12).reshape(4, 3),), None, ()),
    "network": (lambda: Pooled(torch.nn.BatchNorm2d(6)), (IMAGE, torch.tensor([[1, 5, 9]] * 2)), None, ()),
    "channels last": (lambda: torch.nn.Conv2d(3, 4, 3), (IMAGE.to(memory_format=torch.channels_last),), None, ()),
    "mlp": (mlp, (torch.rand(4, 8),), ({0: N},), (16, 2, 7)),
    "lstm": (lambda: torch.nn.LSTM(4, 6, batch_first=True), (torch.rand(2, 5, 4),), None, ()),
    "attention": (encoder, (torch.rand(2, 5, 8),), None, ()),
    "state": (Counter, (torch.tensor([1.0, 3.0]),), None, ()),
    "branches": (of(lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,)) + 1), (torch.rand(4),), None, ()),
    "dynamic channels last": (
        of(lambda x: (x.permute(0, 3, 1, 2) + 1).relu()), (torch.rand(4, 3, 5, 2),), ({0: N},), (9, 2),
    ),
    "no bound": (of(lambda x: (x @ x.t()).softmax(-1) + 1), (torch.rand(4, 3),), ({0: Dim("m")},), (100, 2, 57)),
    "no bound, rows of data": (of(lambda x: torch.nonzero(x > 0.5)), (torch.rand(4, 3),), ({0: Dim("m")},), (90, 2)),
    "no bound, several": (of(lambda x: torch.topk(x, 2, dim=1)), (torch.rand(4, 3),), ({0: Dim("m")},), (50, 3)),
}  # fmt: skip


@cache
def aten_lib() -> Any:
    return importlib.import_module("executorch.extension.pybindings.aten_lib")


def lowered(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], sizes: Any = None, **config: Any) -> bytes:
    exported = export(
        module.eval(), inputs, dynamic_shapes=(sizes,) if isinstance(module, Function) and sizes else sizes
    )
    edge = to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False))
    return bytes(edge.to_executorch(ExecutorchBackendConfig(**config)).buffer)


@needs_aten_lib
@pytest.mark.parametrize("what", PROGRAMS)
def test_a_program_gives_the_same_in_both_modes(what: str) -> None:
    torch.manual_seed(0)
    make, inputs, sizes, others = PROGRAMS[what]
    program = lowered(make(), inputs, sizes)
    portable = portable_lib._load_for_executorch_from_buffer(program)
    aten = aten_lib()._load_for_executorch_from_buffer(program)
    for rows in (len(inputs[0]), *others, len(inputs[0])):
        given = tuple(torch.rand(rows, *x.shape[1:]) for x in inputs) if others else inputs
        torch.testing.assert_close(aten.forward(given), portable.forward(given), **LAYERS)


@needs_aten_lib
def test_operators_run_on_the_kernels_of_aten_unless_only_ours_exist() -> None:
    names = aten_lib()._get_operator_names()
    assert {"aten::add.out", "aten::special_bessel_j0.out", "aten::copy_", "dim_order_ops::_clone_dim_order.out"} <= {
        *names
    }
    assert names.count("aten::add.out") == 2, "ours are there as well, behind ATen's"


@needs_aten_lib
def test_an_operator_without_our_kernel_runs_on_the_kernel_of_aten() -> None:
    x = torch.rand(5)
    function = lambda x: torch.special.bessel_j0(x) + 1  # noqa: E731
    module = aten_lib()._load_for_executorch_from_buffer(lowered(Function(function), (x,), check_target=False))
    torch.testing.assert_close(module.forward((x,)), [function(x)])


@needs_aten_lib
def test_an_operator_registered_later_runs_until_it_is_unregistered() -> None:
    aten_lib()
    x = torch.rand(5)
    with torch.library._scoped_library("late", "DEF") as library:
        library.define("half(Tensor x) -> Tensor")
        library.define("half.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
        library.impl("half", lambda x: x / 2, "CompositeExplicitAutograd")
        library.impl("half.out", lambda x, *, out: out.copy_(x / 2), "CompositeExplicitAutograd")
        program = lowered(Function(lambda x: torch.ops.late.half(x) + 1), (x,), check_target=False)
        module = aten_lib()._load_for_executorch_from_buffer(program)
        torch.testing.assert_close(module.forward((x,)), [x / 2 + 1])
        other = aten_lib()._load_for_executorch_from_buffer(program)
        torch.testing.assert_close(other.forward((x,)), [x / 2 + 1])
        # It is Python, which runs on other threads while this one waits.
        method = aten_lib()._load_program_from_buffer(program).load_method("forward")
        torch.testing.assert_close(aten_lib()._execute_async(method, (x,), threads=2).result(), [x / 2 + 1])
    with pytest.raises(OperatorMissingError, match="missing in torch: its library was unloaded"):
        module.forward((x,))


@needs_aten_lib
def test_delegates_of_xnnpack_run_between_atens_kernels() -> None:
    if "XnnpackBackend" not in aten_lib()._get_registered_backend_names():
        pytest.skip("aten_lib is built without XNNPACK")
    torch.manual_seed(0)
    model, inputs = Pooled(torch.nn.BatchNorm2d(6)).eval(), (IMAGE, torch.tensor([[1, 5, 9]] * 2))
    edge = to_edge_transform_and_lower(export(model, inputs), partitioner=[XnnpackPartitioner()])
    program = edge.to_executorch().buffer
    assert b"XnnpackBackend" in program
    portable = portable_lib._load_for_executorch_from_buffer(program)
    aten = aten_lib()._load_for_executorch_from_buffer(program)
    for _ in range(3):
        torch.testing.assert_close(aten.forward(inputs), portable.forward(inputs), **LAYERS)


@needs_aten_lib
def test_executions_on_other_threads_give_the_same_bits() -> None:
    branches = of(
        lambda x: (x.sin().mm(x).softmax(1), x.cos().mm(x).relu(), torch.cond(x.sum() > 0, torch.exp, torch.neg, (x,)))
    )
    planner = MemoryPlanningPass(concurrent=True)
    program = lowered(branches(), (torch.rand(8, 8),), memory_planning_pass=planner)
    method, oracle = (aten_lib()._load_program_from_buffer(program).load_method("forward") for _ in range(2))
    for _ in range(10):
        x = torch.rand(8, 8) - 0.5
        execution = aten_lib()._execute_async(method, (x,), threads=3)
        assert execution.task_count() > 4
        torch.testing.assert_close(execution.result(), oracle((x,)), rtol=0, atol=0)
    failing = (torch.rand(5), torch.tensor([1, 9]))
    program = lowered(Function(lambda x, i: (x.index_select(0, i), x.exp())), failing, memory_planning_pass=planner)
    method = aten_lib()._load_program_from_buffer(program).load_method("forward")
    with pytest.raises(InvalidArgumentError, match="index out of range"):
        aten_lib()._execute_async(method, failing, threads=2).result()


@needs_aten_lib
def test_a_call_that_aten_refuses_is_an_error_with_its_message() -> None:
    inputs = (torch.rand(5), torch.tensor([1, 2]))
    module = aten_lib()._load_for_executorch_from_buffer(lowered(Function(lambda x, i: x.index_select(0, i)), inputs))
    with pytest.raises(InvalidArgumentError, match="index out of range"):
        module.forward((inputs[0], torch.tensor([1, 9])))
    torch.testing.assert_close(module.forward(inputs), [inputs[0][1:3]])


@needs_aten_lib
def test_wrong_inputs_and_damaged_programs_are_errors() -> None:
    program = lowered(Function(lambda x: x + 1), (torch.rand(3),))
    with pytest.raises(InvalidProgramError):
        aten_lib()._load_for_executorch_from_buffer(program[:100])
    module = aten_lib()._load_for_executorch_from_buffer(program)
    for wrong in (torch.rand(4), torch.ones(3, dtype=torch.int64), torch.rand(3, 1)):
        with pytest.raises(InvalidArgumentError):
            module.forward((wrong,))


@needs_aten_lib
def test_uncopied_outputs_view_method_memory_and_inputs_may_be_other_arrays() -> None:
    module = aten_lib()._load_for_executorch_from_buffer(lowered(Function(lambda x: x + 1), (torch.rand(3),)))
    x = torch.rand(3).numpy()
    (first,) = module.forward((x,), clone_outputs=False)
    assert type(first) is type(x)
    module.forward((x * 2,), clone_outputs=False)
    torch.testing.assert_close(torch.from_numpy(first), torch.from_numpy(x * 2 + 1))


@pytest.mark.skipif(IS_BUILT, reason="aten_lib is built")
def test_without_the_build_the_error_names_the_option() -> None:
    with pytest.raises(ImportError, match="EXECUTORCH_BUILD_ATEN=ON pip install"):
        aten_lib()
