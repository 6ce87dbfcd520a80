# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Split an execution into steps without overlap: kernels, delegates' operators, and the runtime around them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from executorch.devtools.inspector.attribution import DELEGATE_CALL, OPERATOR_CALL, handles_of
from executorch.devtools.inspector.event import Event
from executorch.devtools.inspector.event_block import EventBlock
from executorch.devtools.inspector.sources import KERNEL, Source, source_of_delegate, sources_of
from executorch.devtools.inspector.time_scale import scale_factor

METHOD = "Method::execute"
AROUND_DELEGATE, RUNTIME = "around a delegate's operators", "the runtime around instructions"
_ONE_LEVEL = re.compile(r"\[.*\]|#\d+")


@dataclass(frozen=True)
class Step:
    """A part of an execution. Times are in the block's unit.

    time: average over the runs. sources: operators of the model, first the one that takes the time, then those fused
    into it; empty without a record and for steps of the runtime. ran: the kernel, or backend and operator. backend:
    None for kernels. start, length: in the run of median time, `start` from the beginning of the execution.
    is_operator: the step computes an operator.
    """

    sources: tuple[Source, ...]
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
        """The model's operator that takes the time; `ran` if it is unknown."""
        return self.sources[0].operator if self.sources else self.ran

    @property
    def module(self) -> str | None:
        """Module path of that operator, else of the first source with a known module; "" for the model itself, None if
        unknown.
        """
        return next((source.module for source in self.sources if source.module is not None), None)

    @property
    def line(self) -> str:
        """`file:line, in function` of that operator, else of the first source with a known line; "" if unknown."""
        return next((source.line for source in self.sources if source.line), "")

    @property
    def is_attributed(self) -> bool:
        """Return whether an operator's name and a module's path are known."""
        return self.is_operator and self.module is not None


@dataclass(frozen=True)
class Total:
    """Sum of the steps with one key, and its share of the execution.

    fused: number of calls that are fused into another operator, to which their time is attributed.
    """

    key: str
    calls: int
    fused: int
    time: float
    share: float
    ran: tuple[str, ...]


StepKey = Callable[[Step, Source | None], str]
"""Key of a step: by the source that takes its time (None: unknown), or by a source fused into it."""


def by_operator(step: Step, source: Source | None) -> str:
    """Key by operator of the model; by the kernel or delegate that ran if the source is unknown."""
    return source.operator if source else step.ran


def by_module(step: Step, source: Source | None) -> str:
    """Key by qualified name of the module."""
    path = step.module if source is None or source is step.sources[0] else source.module
    return path or ("(not known)" if path is None else "(the model itself)")


def by_call(step: Step, source: Source | None) -> str:
    """Key by index of the instruction, with all its operators and the kernel or delegate that ran."""
    name = " + ".join(dict.fromkeys(source.operator for source in step.sources)) or step.ran
    return f"{'-' if step.instruction is None else step.instruction}: {name} ({step.ran})"


def by_line(step: Step, source: Source | None) -> str:
    """Key by line of the model's source."""
    line = step.line if source is None or source is step.sources[0] else source.line
    return line or "(not known)"


STEP_KEYS: dict[str, StepKey] = {"operator": by_operator, "module": by_module, "line": by_line, "call": by_call}
"""Name → key by which `totals` sums steps."""


def execution_of(blocks: Sequence[EventBlock]) -> EventBlock:
    """The block of executions with the largest total time. Raises ValueError without an execution."""
    executions = [block for block in blocks if _whole(block) is not None]
    if not executions:
        raise ValueError("the trace contains no execution of a method")
    return max(executions, key=lambda block: sum(_perf(_whole(block)).raw))


def whole_time(block: EventBlock) -> float:
    """The average time of an execution."""
    return float(_perf(_whole(block)).avg)


def run_count(block: EventBlock) -> int:
    """Number of executions in the block."""
    return len(_perf(_whole(block)).raw)


def steps_of(block: EventBlock) -> list[Step]:
    """Return the steps of a block in order of execution. Their times sum up to `whole_time`.

    The length of an enclosing step (around a delegate's operators or instructions) includes the enclosed ones. Raises
    ValueError for a block that is not an execution of a method.
    """
    whole = _whole(block)
    if whole is None:
        raise ValueError(f"block '{block.name}' is not an execution of a method")
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
    remainder = max(0.0, _perf(whole).avg - sum(step.time for step in steps))
    steps.append(Step((), RUNTIME, None, None, 0.0, clock.length(whole), remainder, (), False))
    return sorted(steps, key=lambda step: step.start)


def totals(steps: Iterable[Step], key: StepKey) -> list[Total]:
    """Steps summed by key, in decreasing order of time. Shares are of all steps. Fused operators count at their own
    key, without time.
    """
    groups: dict[str, _Sum] = {}
    whole = 0.0
    for step in steps:
        whole += step.time
        lead = key(step, step.sources[0] if step.sources else None)
        groups.setdefault(lead, _Sum()).add(step, step.time)
        for source in step.sources[1:]:
            if (other := key(step, source)) != lead:
                groups.setdefault(other, _Sum()).add(step, None)
    entries = [
        Total(name, group.calls, group.fused, group.time, group.time / (whole or 1.0), tuple(group.ran))
        for name, group in groups.items()
    ]
    return sorted(entries, key=lambda total: -total.time)


@dataclass
class _Sum:
    calls: int = 0
    fused: int = 0
    time: float = 0.0
    ran: dict[str, None] = field(default_factory=dict)

    def add(self, step: Step, time: float | None) -> None:
        self.calls += 1
        self.fused += time is None
        self.time += time or 0.0
        self.ran[without_numbers(step.ran)] = None


def attributed_share(steps: Iterable[Step]) -> float:
    """Share of the time whose source operator and module path are known."""
    times = [(step.time, step.is_attributed) for step in steps]
    return sum(time for time, known in times if known) / (sum(time for time, _ in times) or 1.0)


def without_numbers(ran: str) -> str:
    """`ran` without the parts unique to one call: "Convolution (NHWC, F32) GEMM" for "Convolution (NHWC, F32) GEMM #2
    [9]".
    """
    return _ONE_LEVEL.sub("", ran).strip()


def _whole(block: EventBlock) -> Event | None:
    return next((event for event in block.events if event.name == METHOD and event.perf_data is not None), None)


def _perf(event: Event | None) -> Any:
    if event is None or event.perf_data is None:
        raise ValueError("the block is not an execution of a method")
    return event.perf_data


class _Clock:
    """Starts of events in the run of median time, from its beginning."""

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
        sources=_sources(event) if is_operator else (),
        ran=ran,
        backend=backend,
        instruction=event._instruction_id,
        start=start,
        length=length,
        time=time,
        handles=handles_of(event),
        is_operator=is_operator,
    )


def _sources(event: Event) -> tuple[Source, ...]:
    return source_of_delegate(event) if event.name == DELEGATE_CALL else sources_of(event)
