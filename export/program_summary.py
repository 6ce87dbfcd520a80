# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Summary of a finished program: operators, delegates, bytes, memory. Plain values for tables and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch

from executorch.exir.graph_module import all_graph_modules
from executorch.exir.memory import alloc
from executorch.exir.memory.lifetimes.specs import get_node_tensor_specs
from executorch.exir.report.lowering_report import DelegateReport, Fallback
from executorch.exir.report.temp_peak import TempPeak
from executorch.exir.schema import DelegateCall, ExecutionPlan, KernelCall, Tensor, TensorShapeDynamism

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from executorch.exir import ExecutorchProgramManager
    from executorch.exir.memory.plan import MemoryPlan

__all__ = ["Arena", "Delegate", "LargeTensor", "MethodSummary", "ProgramSummary", "summarize"]

_LARGEST = 8
_TensorKind = Literal["constant", "state", "planned"]


@dataclass(frozen=True)
class Arena:
    """Planned memory. lower_bound_bytes: minimum of any plan; 0 if unknown. optimal: proven to be the minimum."""

    memory_id: int
    planned_bytes: int
    lower_bound_bytes: int
    optimal: bool


@dataclass(frozen=True)
class Delegate:
    """A delegate: how often the method calls it, and the size of its payload."""

    backend: str
    calls: int
    payload_bytes: int


@dataclass(frozen=True)
class LargeTensor:
    """A large tensor. kind: a state is a mutated buffer. name: of the weight or first node."""

    name: str
    kind: _TensorKind
    dtype: str
    sizes: tuple[int, ...]
    bytes: int


@dataclass(frozen=True)
class MethodSummary:
    """One method.

    operators: name → number of calls, in decreasing order. method_allocator_bytes: the runtime's figure for loading;
    None if the runtime is missing or fails to load the method (`note` says why). temp_peak: measured need of the temp
    allocator; None for a method that only returns constants. unbounded: tensors from the client's dynamic allocator.
    estimates, fallbacks: from the lowering report: delegates in graph order with their cost as kernels, and operators
    that the requested partitioners left.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    instructions: int
    operators: dict[str, int]
    delegates: tuple[Delegate, ...]
    arenas: tuple[Arena, ...]
    largest: tuple[LargeTensor, ...]
    method_allocator_bytes: int | None
    note: str
    temp_peak: TempPeak | None = None
    unbounded: tuple[str, ...] = ()
    estimates: tuple[DelegateReport, ...] = ()
    fallbacks: tuple[Fallback, ...] = ()


@dataclass(frozen=True)
class ProgramSummary:
    """Summary of a written program and its export.

    path, file_bytes: of the written file. constant_bytes: of all weights, each counted once. seconds: step →
    time.
    """

    path: str
    file_bytes: int
    constant_bytes: int
    constants: int
    delegate_bytes: int
    methods: tuple[MethodSummary, ...]
    seconds: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        """Return dicts and lists, for JSON."""
        return asdict(self)


def summarize(manager: ExecutorchProgramManager, path: str, seconds: dict[str, float]) -> ProgramSummary:
    """Summarize the program in `manager`, which was written to `path`."""
    program = manager.executorch_program
    payloads = [len(inline.data) for inline in program.backend_delegate_data]
    sizes = [len(buffer.storage) for buffer in program.constant_buffer]
    verdicts = {method.name: method for method in manager.verdict.methods}
    constant = manager.verdict.constant_methods
    methods = []
    for plan in program.execution_plan:
        exported = manager.exported_program(plan.name) if plan.name in manager.methods else None
        verdict = verdicts.get(plan.name)
        methods.append(
            MethodSummary(
                name=plan.name,
                inputs=tuple(_describe(plan, index) for index in plan.inputs),
                outputs=tuple(_describe(plan, index) for index in plan.outputs),
                instructions=sum(len(chain.instructions) for chain in plan.chains),
                operators=_operators(plan),
                delegates=_delegates(plan, payloads),
                arenas=_arenas(plan, manager.memory_plans.get(plan.name)),
                largest=_largest(exported),
                method_allocator_bytes=constant[plan.name] if verdict is None else verdict.method_allocator_bytes,
                note="" if verdict is None else verdict.note,
                temp_peak=None if verdict is None else verdict.temp_peak,
                unbounded=() if verdict is None else verdict.unbounded,
                estimates=() if verdict is None else verdict.delegates,
                fallbacks=() if verdict is None else verdict.fallbacks,
            )
        )
    return ProgramSummary(
        path=path,
        file_bytes=Path(path).stat().st_size,
        constant_bytes=sum(sizes),
        constants=sum(size > 0 for size in sizes),
        delegate_bytes=sum(payloads),
        methods=tuple(methods),
        seconds=dict(seconds),
    )


def _instructions(plan: ExecutionPlan, kind: type) -> list[Any]:
    return [i.instr_args for chain in plan.chains for i in chain.instructions if isinstance(i.instr_args, kind)]


def _operators(plan: ExecutionPlan) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for call in _instructions(plan, KernelCall):
        operator = plan.operators[call.op_index]
        counts[f"{operator.name}.{operator.overload}" if operator.overload else operator.name] += 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _delegates(plan: ExecutionPlan, payloads: list[int]) -> tuple[Delegate, ...]:
    calls = Counter(call.delegate_index for call in _instructions(plan, DelegateCall))
    return tuple(
        Delegate(delegate.id, calls[index], payloads[delegate.processed.index])
        for index, delegate in enumerate(plan.delegates)
    )


def _describe(plan: ExecutionPlan, index: int) -> str:
    value = plan.values[index].val
    if not isinstance(value, Tensor):
        return type(value).__name__.lower()
    bound = "≤" if value.shape_dynamism else ""
    any_size = value.shape_dynamism is TensorShapeDynamism.DYNAMIC_UNBOUND
    sizes = ", ".join("any" if any_size and size == 0 else str(size) for size in value.sizes)
    return f"{value.scalar_type.name.lower()}{bound}[{sizes}]"


def _arenas(plan: ExecutionPlan, memory: MemoryPlan | None) -> tuple[Arena, ...]:
    bounds = {} if memory is None else {arena.mem_id: arena for arena in memory.arenas}
    return tuple(
        Arena(
            memory_id,
            size,
            bounds[memory_id].lower_bound if memory_id in bounds else 0,
            memory_id in bounds and bounds[memory_id].is_optimal,
        )
        for memory_id, size in enumerate(plan.non_const_buffer_sizes)
        if memory_id > 0
    )


def _planned_specs(exported: ExportedProgram) -> dict[Any, str]:
    """Planned spec → name of the first node with this spec."""
    specs: dict[Any, str] = {}
    allocated: dict[Any, str] = {}
    for graph_module in all_graph_modules(exported.graph_module):
        for node in graph_module.graph.nodes:
            for spec in get_node_tensor_specs(node):
                if spec.mem_id is None or spec.mem_offset is None or None in spec.lifetime:
                    continue
                if node.target is alloc:
                    allocated.setdefault(spec, node.name)  # prefer the name of the operator that writes it
                else:
                    specs.setdefault(spec, node.name)
    return {**allocated, **specs}


def _largest(exported: ExportedProgram | None) -> tuple[LargeTensor, ...]:
    """The largest tensors in the file and the arenas."""
    if exported is None:
        return ()
    signature = exported.graph_signature
    updated = set(signature.buffers_to_mutate.values())
    constants = []
    for spec in signature.input_specs:
        value = exported.state_dict.get(spec.target, exported.constants.get(spec.target))
        if isinstance(value, torch.Tensor):
            kind: _TensorKind = "state" if spec.target in updated else "constant"
            constants.append(_large_tensor(str(spec.target), kind, value.dtype, value.shape, value.nbytes))
    states = {name for name, target in signature.inputs_to_buffers.items() if target in updated}
    for planned, name in _planned_specs(exported).items():
        if name not in states:
            constants.append(_large_tensor(name, "planned", planned.dtype, planned.shape, planned.allocated_memory))
    return tuple(sorted(constants, key=lambda tensor: -tensor.bytes)[:_LARGEST])


def _large_tensor(name: str, kind: _TensorKind, dtype: torch.dtype, sizes: Iterable[int], size: int) -> LargeTensor:
    return LargeTensor(name, kind, str(dtype).removeprefix("torch."), tuple(map(int, sizes)), size)
