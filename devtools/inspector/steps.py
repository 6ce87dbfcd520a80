# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""An execution as steps that take its time without overlap: kernels, delegates' operators, and what is around them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from executorch.devtools.inspector.attribution import DELEGATE_CALL, OPERATOR_CALL, handles_of
from executorch.devtools.inspector.event import Event
from executorch.devtools.inspector.event_block import EventBlock
from executorch.devtools.inspector.time_scale import scale_factor
from executorch.exir.error import line_of_trace

METHOD = "Method::execute"
KERNEL = "native_call_"
AROUND_DELEGATE, RUNTIME = "around a delegate's operators", "the runtime around instructions"
_ONE_LEVEL = re.compile(r"\[.*\]|#\d+")


@dataclass(frozen=True)
class Step:
    """A part of an execution; `time`, on average over the runs, and what else is time are in the block's unit.

    operators: of the model, that it runs (none without a record, or for what is no operator's). module: the path of
    their module, or of what their modules have in common; None if it is not known. source: `file:line, in function`.
    ran: the kernel, or the backend and its operator. `backend`: None for kernels. `start`, since the execution began,
    and `length` are of the run that took the median time. `is_operator`: it computes something.
    """

    operators: tuple[str, ...]
    nodes: tuple[str, ...]
    module: str | None
    source: str
    ran: str
    backend: str | None
    instruction: int | None
    start: float
    length: float
    time: float
    handles: tuple[int, ...]
    is_operator: bool

    @property
    def label(self) -> str:
        """The model's operators, or what ran where they are not known."""
        return " + ".join(dict.fromkeys(self.operators)) or self.ran

    @property
    def is_attributed(self) -> bool:
        """Whether it is known by the names of operators and a module's path."""
        return self.is_operator and bool(self.operators) and self.module is not None


@dataclass(frozen=True)
class Total:
    """Steps that have a key in common: their sum, and its share of the execution."""

    key: str
    calls: int
    time: float
    share: float
    ran: tuple[str, ...]


STEP_KEYS: dict[str, Callable[[Step], str]] = {
    "operator": lambda step: step.label,
    "module": lambda step: step.module or ("(not known)" if step.module is None else "(the model itself)"),
    "call": lambda step: f"{'-' if step.instruction is None else step.instruction}: {step.label} ({step.ran})",
}
"""What steps are summed by, for `totals`."""


def execution_of(blocks: Sequence[EventBlock]) -> EventBlock:
    """The block of executions that took most time. Raises ValueError if there is none."""
    found = [block for block in blocks if _whole(block) is not None]
    if not found:
        raise ValueError("the trace has no execution of a method")
    return max(found, key=lambda block: sum(_perf(_whole(block)).raw))


def whole_time(block: EventBlock) -> float:
    """The average time of an execution."""
    return float(_perf(_whole(block)).avg)


def run_count(block: EventBlock) -> int:
    """How many executions the block has."""
    return len(_perf(_whole(block)).raw)


def steps_of(block: EventBlock) -> list[Step]:
    """The block's steps in the order in which they ran; their times sum up to `whole_time`.

    The lengths of what is around others (a delegate's operators, instructions) include those.
    """
    whole = _whole(block)
    if whole is None:
        raise ValueError(f"block '{block.name}' is no execution of a method")
    clock = _Clock(block, whole)
    steps: list[Step] = []
    around: list[Step] = []
    inside: dict[int | None, list[Event]] = {}
    for event in block.events:
        if event.is_delegated_op and event.perf_data is not None:
            inside.setdefault(event._instruction_id, []).append(event)
    for event in block.events:
        if event.perf_data is None or event is whole or event.name == OPERATOR_CALL:
            continue
        if event.name == DELEGATE_CALL and event._instruction_id in inside:
            parts = inside[event._instruction_id]
            rest = max(0.0, event.perf_data.avg - sum(_perf(part).avg for part in parts))
            around.append(_step(event, clock.start(event), clock.length(event), rest, is_operator=False))
        elif event.name == DELEGATE_CALL or event.name.startswith(KERNEL) or event.is_delegated_op:
            step = _step(event, clock.start(event), clock.length(event), event.perf_data.avg, is_operator=True)
            steps.append(step)
    steps += around
    left = max(0.0, _perf(whole).avg - sum(step.time for step in steps))
    steps.append(Step((), (), None, "", RUNTIME, None, None, 0.0, clock.length(whole), left, (), False))
    return sorted(steps, key=lambda step: step.start)


def totals(steps: Iterable[Step], key: Callable[[Step], str]) -> list[Total]:
    """The steps summed by key, largest first; shares are of all the steps."""
    groups: dict[str, list[Step]] = {}
    for step in steps:
        groups.setdefault(key(step), []).append(step)
    whole = sum(step.time for group in groups.values() for step in group) or 1.0
    found = [
        Total(name, len(group), time, time / whole, tuple(dict.fromkeys(without_numbers(step.ran) for step in group)))
        for name, group in groups.items()
        for time in [sum(step.time for step in group)]
    ]
    return sorted(found, key=lambda total: -total.time)


def attributed_share(steps: Iterable[Step]) -> float:
    """The share of time that is known by source operators and module paths."""
    times = [(step.time, step.is_attributed) for step in steps]
    return sum(time for time, known in times if known) / (sum(time for time, _ in times) or 1.0)


def without_numbers(ran: str) -> str:
    """What ran, as many calls may have: "Convolution (NHWC, F32) GEMM" of "Convolution (NHWC, F32) GEMM #2 [9]"."""
    return _ONE_LEVEL.sub("", ran).strip()


def _whole(block: EventBlock) -> Event | None:
    return next((event for event in block.events if event.name == METHOD and event.perf_data is not None), None)


def _perf(event: Event | None) -> Any:
    if event is None or event.perf_data is None:
        raise ValueError("the block is no execution of a method")
    return event.perf_data


class _Clock:
    """Starts of events in one run, the one of median time, since its beginning."""

    def __init__(self, block: EventBlock, whole: Event) -> None:
        raw = _perf(whole).raw
        self._run = sorted(range(len(raw)), key=lambda run: raw[run])[len(raw) // 2]
        self._begin = (whole.start_time or [0])[self._run]
        self._scale = scale_factor(block.source_time_scale, block.target_time_scale)

    def length(self, event: Event) -> float:
        return float(_perf(event).raw[self._run])

    def start(self, event: Event) -> float:
        ticks = (event.start_time or [self._begin])[self._run] - self._begin
        return max(0, ticks) / self._scale


def _step(event: Event, start: float, length: float, time: float, *, is_operator: bool) -> Step:
    backend = event.delegate_backend_name or ("delegate" if event.is_delegated_op else None)
    if event.name == DELEGATE_CALL:
        backend = backend or "delegate"
        ran = backend if is_operator else f"{backend}: {AROUND_DELEGATE}"
    else:
        ran = f"{backend}: {event.name}" if backend else event.name.removeprefix(KERNEL)
    return Step(
        operators=tuple(event.op_types) if is_operator else (),
        nodes=tuple(event.stack_traces) if is_operator else (),
        module=_module(event) if is_operator else None,
        source=_source(event),
        ran=ran,
        backend=backend,
        instruction=event._instruction_id,
        start=start,
        length=length,
        time=time,
        handles=handles_of(event),
        is_operator=is_operator,
    )


def _module(event: Event) -> str | None:
    """What the paths of the nodes' innermost modules have in common; "" is the model itself."""
    paths = [str(list(stack.values())[-1][0]).split(".") for stack in event.module_hierarchy.values() if stack]
    if not paths:
        return None
    common = []
    for parts in zip(*paths, strict=False):
        if len(set(parts)) > 1:
            break
        common.append(parts[0])
    return ".".join(common)


def _source(event: Event) -> str:
    """`file:line, in function` of the last node that has one."""
    lines = (line_of_trace(trace) for trace in reversed(list(event.stack_traces.values())))
    return next((line for line in lines if line), "")
