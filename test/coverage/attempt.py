# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""One case, one way: make, export, lower, run, compare."""

from __future__ import annotations

import gc
import inspect
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from typing import Any, TypeVar

import torch
from torch import fx, nn
from torch.export import Dim, ExportedProgram, export
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from executorch.exir import ExecutorchBackendConfig
from executorch.runtime import Runtime

from .case import Arguments, Case, Example, Positional, flat
from .record import Outcome, Record
from .ways import WAYS, Way, quantized

_T = TypeVar("_T")
OnExported = Callable[[ExportedProgram, tuple[Any, ...], dict[str, Any]], Any]
_MESSAGE = 600
# The sizes of the calls of a way with a size that varies. The first one is exported; the largest is the bound.
_SIZES = {"batch": (2, 1, 3, 4), "length": (7, 3, 13, 16)}
MAX_SLACK = 0.2
"""A larger one would excuse outputs that have little in common with eager's."""
_WRONG = "PyTorch runs the exported program with"


class Ended(Exception):
    """The attempt ends here with this outcome."""

    def __init__(self, outcome: Outcome, reason: BaseException | str) -> None:
        super().__init__(outcome, reason)
        self.outcome = outcome
        self.message = _one_line(reason)


def _one_line(reason: BaseException | str) -> str:
    text = f"{type(reason).__name__}: {reason}" if isinstance(reason, BaseException) else reason
    return " ".join(text.split())[:_MESSAGE]


@contextmanager
def _stage(outcome: Outcome) -> Iterator[None]:
    """Whatever goes wrong inside ends the attempt with `outcome`."""
    try:
        yield
    except Ended:
        raise
    except Exception as error:
        raise Ended(outcome, error) from error


@contextmanager
def _fails_at_limit(what: str) -> Iterator[None]:
    """Raise TimeoutError inside at the limit of processor time, which would end the process.

    The system sends the signal again each second, should the code inside catch the error.
    """

    def fail(*_: object) -> None:
        raise TimeoutError(f"{what} was not done at the limit of processor time")

    previous = signal.signal(signal.SIGXCPU, fail)
    try:
        yield
    finally:
        signal.signal(signal.SIGXCPU, previous)


def warm_up(way_names: Iterable[str]) -> None:
    """Import what attempts import and fill their caches: forked processes share both, which saves each 0.7 s.

    Runs nothing: the threads of the runtime would be missing after a fork.
    """
    args = (torch.ones(1, 4),)
    for way in (WAYS[name] for name in way_names):
        program = export(nn.Sequential(nn.Linear(4, 4), nn.ReLU()).eval(), args)
        if way.quantize:
            program = export(quantized(program, way.quantize, args, {}), args)
        way.lower(program).to_executorch(ExecutorchBackendConfig())
    gc.collect()
    gc.freeze()


def attempt(
    case: Case, way_name: str, on_exported: Callable[[ExportedProgram, tuple[Any, ...], dict[str, Any]], Any]
) -> Record:
    """The record of `case` done in the way `way_name`. on_exported: called with what torch.export gave; its result, if
    any, is the record's `peer`."""
    record = Record(case.suite, case.name, way_name, Outcome.MATCHED, rule=case.rule.label)
    started = time.process_time()
    torch.manual_seed(case.rule.seed)
    try:
        with _stage(Outcome.UNBUILT), torch.no_grad():
            example = case.make()
            example.module.eval()
        record.reproduction = example.reproduction
        record.parameters = example.parameters
        with torch.no_grad():
            _attempt(example, WAYS[way_name], record, on_exported)
    except Ended as end:
        record.outcome, record.message = end.outcome, end.message
    record.attempt_cpu_seconds = time.process_time() - started
    return record


@contextmanager
def _blaming_torch(
    program: ExportedProgram, calls: list[Arguments], calls_expected: list[tuple[Any, ...]], bound: float
) -> Iterator[None]:
    """Make a failure torch.export's where PyTorch does not get eager's numbers from the exported program either."""
    try:
        yield
    except Ended as end:
        with _stage(Outcome.UNEXPORTED):
            _check_declared(program, calls_expected[0])
            for (args, kwargs), expected in zip(calls, calls_expected, strict=True):
                found = flat(program.module()(*deepcopy(args), **deepcopy(kwargs)))
                if reason := _mismatch(found, expected):
                    raise Ended(Outcome.UNEXPORTED, f"{_WRONG} another result: {reason}") from end
                if (error := _difference(found, expected)) > bound:
                    raise Ended(Outcome.UNEXPORTED, f"{_WRONG} an error of {error:.3g}") from end
        raise


@contextmanager
def excusing_rounding(
    judge: nn.Module, calls: list[Arguments], calls_expected: list[tuple[Any, ...]], bound: float
) -> Iterator[None]:
    """Do not count a difference where eager in float64, on inputs that differ by the last digit or by a millionth, with
    weights that differ by a millionth, or with equal elements sorted in another order exceeds the bound too: rounding
    or PyTorch's choice among ties decides.
    """
    try:
        yield
    except Ended as end:
        if end.outcome is not Outcome.DIFFERS:
            raise
        for what, compute in _OTHER_EAGERS.items():
            try:
                calls_found = [compute(judge, call) for call in calls]
            except Exception:  # noqa: BLE001  # eager may lack an operator in float64
                continue
            for found, expected in zip(calls_found, calls_expected, strict=True):
                if reason := _mismatch(found, expected):
                    raise Ended(Outcome.UNSTABLE, f"eager {what} gives another result: {reason}") from end
                if (error := _difference(found, expected)) > bound:
                    raise Ended(Outcome.UNSTABLE, f"eager {what} has a difference of {error:.3g}") from end
        raise


@contextmanager
def excusing_precision(record: Record, bound: float, largest: float) -> Iterator[None]:
    """Do not count an error above `bound` and up to `largest`, the one that twice eager's own in that precision gives.

    Both errors are so large that neither result says anything about the other.
    """
    try:
        yield
    except Ended as end:
        if end.outcome is not Outcome.DIFFERS or record.error is None or not bound < record.error <= largest:
            raise
        raise Ended(Outcome.UNSTABLE, f"eager in that precision differs as much: {end.message}") from end


def _in_float64(judge: nn.Module, call: Arguments) -> tuple[Any, ...]:
    return _eager(deepcopy(judge).double(), *_cast(call, torch.float64))


def _on_neighbors(judge: nn.Module, call: Arguments) -> tuple[Any, ...]:
    """The outputs for the next larger magnitudes of float32 inputs."""

    def neighbor(value: Any) -> Any:
        is_float32 = isinstance(value, torch.Tensor) and value.dtype == torch.float32
        return torch.nextafter(value, 2 * value) if is_float32 else value

    return _eager(judge, *pytree.tree_map(neighbor, call))


def _nearby(value: Any, generator: torch.Generator) -> Any:
    """A float32 tensor multiplied by 1 - 1e-6 or 1 + 1e-6, element by element; anything else as it is."""
    if not isinstance(value, torch.Tensor) or value.dtype != torch.float32:
        return value
    return value * (1 + 1e-6 * (2 * torch.randint(2, value.shape, generator=generator) - 1))


def _on_inputs_nearby(judge: nn.Module, call: Arguments) -> tuple[Any, ...]:
    """The outputs for inputs that differ by a millionth, as much as sums in another order differ."""
    generator = torch.Generator().manual_seed(0)
    return _eager(judge, *pytree.tree_map(lambda value: _nearby(value, generator), call))


def _with_weights_nearby(judge: nn.Module, call: Arguments) -> tuple[Any, ...]:
    """The outputs with weights that differ by a millionth: inputs of integers, such as tokens, cannot."""
    generator = torch.Generator().manual_seed(0)
    changed = deepcopy(judge)
    with torch.no_grad():
        for weight in [*changed.parameters(), *changed.buffers()]:
            weight.copy_(_nearby(weight, generator))
    return _eager(changed, *call)


class StableSorts(TorchDispatchMode):
    """Sort stably where the caller leaves the order of equal elements open, which depends on the processor then."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        options = kwargs or {}
        if func in (torch.ops.aten.sort.default, torch.ops.aten.sort.stable):
            given = dict(zip(("dim", "descending"), args[1:], strict=False))
            return torch.ops.aten.sort.stable(args[0], **given, **options | {"stable": True})
        return func(*args, **options)


def _with_stable_sorts(judge: nn.Module, call: Arguments) -> tuple[Any, ...]:
    with StableSorts():
        return _eager(judge, *call)


_OTHER_EAGERS: dict[str, Callable[[nn.Module, Arguments], tuple[Any, ...]]] = {
    "in float64": _in_float64,
    "on inputs that differ in the last digit": _on_neighbors,
    "on inputs that differ by a millionth": _on_inputs_nearby,
    "with weights that differ by a millionth": _with_weights_nearby,
    "with stable sorts": _with_stable_sorts,
}


def _attempt(example: Example, way: Way, record: Record, on_exported: OnExported) -> None:
    with _stage(Outcome.UNBUILT):
        reference = _eager(example.module, example.args, example.kwargs)
    if not any(isinstance(one, torch.Tensor) for one in reference):
        raise Ended(Outcome.UNBUILT, "it gives no tensor")
    judge: nn.Module = example.module
    module, args, kwargs = deepcopy(example.module), example.args, example.kwargs
    own_error = slack = 0.0
    if way.dtype != torch.float32:
        with _stage(Outcome.UNBUILT):  # eager may lack an operator in that precision
            module = module.to(way.dtype)
            args, kwargs = _cast((args, kwargs), way.dtype)
            own_error = _difference(_eager(module, args, kwargs), reference)
            slack = min(2 * own_error, MAX_SLACK)
    shapes: Any = None
    calls = [(args, kwargs)]
    if way.dynamic:
        calls = _calls_of_sizes(example, way.dynamic)
        names = list(calls[0][1])
        module, judge = Positional(module, names), Positional(judge, names)
        calls = [((*args, *kwargs.values()), {}) for args, kwargs in calls]
        args, kwargs = calls[0]
        shapes = _varying_dims(calls, max(_SIZES[way.dynamic]))
    started = time.process_time()
    with _stage(Outcome.UNEXPORTED), _fails_at_limit("torch.export"):
        program = _export(module, args, kwargs, shapes)
    record.export_cpu_seconds = time.process_time() - started
    if way.quantize:
        with _stage(Outcome.UNPREPARED):
            judge = quantized(program, way.quantize, deepcopy(args), deepcopy(kwargs))
            own = _eager(judge, args, kwargs)
            slack = slack_of_scales(own, reference) if way.quantize == "dynamic" else 0.0
            program = export(judge, args, kwargs)
    is_reference = not way.dynamic and not way.quantize
    calls_expected = [reference] if is_reference else [_eager(judge, *call) for call in calls]
    bound, largest = way.bound + slack, way.bound + max(slack, 2 * own_error)
    with (
        excusing_precision(record, bound, largest),
        excusing_rounding(judge, calls, calls_expected, bound),
        _blaming_torch(program, calls, calls_expected, largest),
    ):
        _lower_and_run(program, calls, calls_expected, way, bound, record, on_exported)


def slack_of_scales(own: tuple[Any, ...], reference: tuple[Any, ...]) -> float:
    """Twice the error of a model with dynamic scales: a delegate chooses a scale for each row, eager one for all."""
    return 0.0 if _mismatch(own, reference) else min(2 * _difference(own, reference), MAX_SLACK)


def _eager(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The outputs of a copy of the module, so that the module keeps its state."""
    return flat(deepcopy(module)(*deepcopy(args), **deepcopy(kwargs)))


def _lower_and_run(
    program: ExportedProgram,
    calls: list[Arguments],
    calls_expected: list[tuple[Any, ...]],
    way: Way,
    bound: float,
    record: Record,
    on_exported: OnExported,
) -> None:
    with _stage(Outcome.NOT_LOWERED):
        record.peer = on_exported(program, *calls[0])
        started = time.process_time()
        manager = way.lower(program).to_executorch(ExecutorchBackendConfig())
        record.lower_cpu_seconds = time.process_time() - started
        file = manager.buffer
    _describe(manager, file, record)
    with _stage(Outcome.NOT_RUN):
        method = Runtime.get().load_program(file).load_method("forward")
        found = [flat(method.execute(_leaves(*deepcopy(call)))) for call in calls]
    record.error = 0.0
    for values, expected in zip(found, calls_expected, strict=True):
        if reason := _mismatch(values, expected):
            raise Ended(Outcome.DIFFERS, reason)
        record.error = max(record.error, _difference(values, expected))
    if not record.error <= bound:
        raise Ended(Outcome.DIFFERS, f"{record.error:.3g} of the largest value; at most {bound:.3g} is allowed")


def _export(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], shapes: Any) -> ExportedProgram:
    """Export without dynamo; with it what torch.export refuses otherwise, such as most of torch.func."""
    dynamic_shapes = None if shapes is None else _named_shapes(module, args, kwargs, *shapes)
    call = partial(export, module, deepcopy(args), deepcopy(kwargs), dynamic_shapes=dynamic_shapes)
    try:
        return call(strict=False)
    except Exception as refused:  # noqa: BLE001  # raised again unless dynamo does better
        try:
            return call(strict=True)
        except Exception:  # noqa: BLE001  # the first refusal says more
            raise refused from None


def _named_shapes(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], by_place: Any, by_name: Any) -> Any:
    """The dynamic shapes of all arguments by name; those of ``*args`` and ``**kwargs`` as one entry each."""

    bound = inspect.signature(module.forward).bind(*args, **kwargs).arguments
    if "args" in bound or "kwargs" in bound:
        return {name: by_place if name == "args" else by_name for name in bound}
    return {**dict(zip(bound, by_place, strict=False)), **by_name}


def _calls_of_sizes(example: Example, size: str) -> list[Arguments]:
    make = example.batched if size == "batch" else example.lengthened
    if make is None:
        raise Ended(Outcome.UNBUILT, f"the suite does not vary the {size} of this model's arguments")
    with _stage(Outcome.UNBUILT):
        return [make(one) for one in _SIZES[size]]


def _varying_dims(calls: list[Arguments], largest: int) -> Any:
    """Return the dynamic dimensions, which are those whose sizes differ between calls."""

    def dims(*values: Any) -> dict[int, Any] | None:
        if not isinstance(values[0], torch.Tensor):
            return None
        sizes = zip(*(one.shape for one in values), strict=True)
        return {dim: Dim.AUTO(min=1, max=largest) for dim, seen in enumerate(sizes) if len(set(seen)) > 1}

    varied_dims = pytree.tree_map(dims, *calls)
    if not any(isinstance(one, dict) and one for one in pytree.tree_leaves(varied_dims, is_leaf=_is_dims)):
        raise Ended(Outcome.UNBUILT, "no argument's size varies")
    return varied_dims


def _is_dims(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, int) for one in value)


def _cast(values: _T, dtype: torch.dtype) -> _T:
    return pytree.tree_map(  # type: ignore[no-any-return]
        lambda one: one.to(dtype) if isinstance(one, torch.Tensor) and one.is_floating_point() else one, values
    )


def _leaves(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    return pytree.tree_leaves((args, kwargs))


def _describe(manager: Any, file: bytes, record: Record) -> None:
    """Record delegates, kernels outside them, and the file's size."""
    method = next(one for one in manager.verdict.methods if one.name == "forward")
    inside = sum(one.flops for one in method.delegates)
    record.delegates = len(method.delegates)
    record.delegated = round(inside / (inside + method.flops), 4) if inside + method.flops else 0.0
    record.left = dict(method.kernels)
    record.file_bytes = len(file)


def _check_declared(program: ExportedProgram, expected: tuple[Any, ...]) -> None:
    """End the attempt if torch.export found another shape of an output than eager gives."""
    outputs: Any = program.graph.output_node().args[0]
    shapes = [getattr(one.meta.get("val"), "shape", None) if isinstance(one, fx.Node) else None for one in outputs]
    wanted = [getattr(one, "shape", None) for one in expected]
    for place, (shape, other) in enumerate(zip(shapes[-len(wanted) :], wanted, strict=False)):
        if shape and other is not None and all(type(size) is int for size in shape) and shape != other:
            raise Ended(
                Outcome.UNEXPORTED,
                f"torch.export found the shape {tuple(shape)} for output {place}, eager's is {tuple(other)}",
            )


def _mismatch(found: tuple[Any, ...], expected: tuple[Any, ...]) -> str:
    """Return the difference in kind of the outputs as text; empty without one."""
    if len(found) != len(expected):
        return f"{len(found)} outputs, eager gives {len(expected)}"
    for place, (one, other) in enumerate(zip(found, expected, strict=True)):
        if not isinstance(other, torch.Tensor):
            continue
        value = torch.as_tensor(one)
        if value.shape != other.shape:
            return f"output {place} has the shape {tuple(value.shape)}, eager's {tuple(other.shape)}"
        if value.is_floating_point() and not torch.equal(value.isnan(), other.isnan()):
            return f"output {place} has {int(value.isnan().sum())} NaN, eager's {int(other.isnan().sum())}"
    return ""


def _difference(found: tuple[Any, ...], expected: tuple[Any, ...]) -> float:
    """The largest difference of an output, relative to the largest finite magnitude that eager gives there."""
    worst = 0.0
    for one, other in zip(found, expected, strict=True):
        if not isinstance(other, torch.Tensor):
            worst = max(worst, 0.0 if one == other else float("inf"))
            continue
        kind = torch.complex128 if other.is_complex() else torch.float64
        value, wanted = torch.as_tensor(one).detach().to(kind), other.detach().to(kind)
        if not wanted.numel():
            continue
        gap = torch.where(value == wanted, 0.0, (value - wanted).abs()).nan_to_num(nan=0.0)
        largest = float(wanted.abs().nan_to_num(nan=0.0, posinf=0.0).max())
        worst = max(worst, float(gap.max()) / max(largest, 1e-6))
    return worst
