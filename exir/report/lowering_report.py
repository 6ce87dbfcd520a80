# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The lowering report of a program: delegates, kernels, fallbacks with reasons, costs and memory.

It consists of plain values, with a text and a JSON form.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field

from torch import fx
from torch._ops import OpOverload
from torch.export import ExportedProgram

from executorch.exir.backend.delegate.dry_build import can_dry_build
from executorch.exir.backend.partition.compute_precision import precision_of
from executorch.exir.backend.partition.fallback import FALLBACK
from executorch.exir.dialects._ops import EdgeOpOverload
from executorch.exir.error import Rejection, VerificationError, module_path, source_line
from executorch.exir.format.named_data import NamedDataStoreOutput
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.lowered_backend_module import LoweredBackendModule, get_lowered_backend_modules
from executorch.exir.memory.sizes.unbound import unbounded_tensors
from executorch.exir.plugins.installed_runtime import installed_runtime
from executorch.exir.program.target import installed_kernels, operators_of, operators_to_link
from executorch.exir.report.cost import Cost, cost_of
from executorch.exir.report.report_table import render
from executorch.exir.report.temp_peak import TempPeak, temp_peak
from executorch.exir.schema import ExecutionPlan, Program

__all__ = [
    "DelegateReport",
    "Fallback",
    "LoweringReport",
    "MethodReport",
    "check_strict",
    "fallbacks_of",
    "lowering_report",
]

_logger = logging.getLogger(__name__)
_LISTED = 5


@dataclass(frozen=True)
class Fallback:
    """An operator that the requested partitioners left to the kernels.

    reasons: partitioner → why. flops, bytes: estimated cost of one call (report/cost.py).
    module, source: its module and source line in the model.
    """

    node: str
    operator: str
    reasons: dict[str, str]
    flops: int
    bytes: int
    module: str
    source: str


@dataclass(frozen=True)
class DelegateReport:
    """One delegate.

    flops, bytes: estimated cost of its operators as kernels, including tensors between them.
    precisions: operator → precision in which the backend computes it, such as fp32, bf16 or int8 → calls. Products of
    "bf16" round their factors where the processor multiplies that faster.
    dry_built: True if its backend accepted the payload ahead of time; None if the backend is not in this process, or
    nothing was checked.
    """

    backend: str
    operators: int
    payload_bytes: int
    flops: int
    bytes: int
    dry_built: bool | None
    precisions: dict[str, dict[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class MethodReport:
    """One method.

    kernels: kernel → calls. flops, bytes: of all kernels. arenas: memory id → planned bytes.
    method_allocator_bytes: bytes that loading takes from the method allocator, without those of delegates; None if the
    runtime is not installed or does not load the method (`note` says why).
    temp_peak: measured size of the temp allocator (report/temp_peak.py).
    unbounded: tensors that are not planned because a size is unbounded; the runtime takes their memory from the
    client's dynamic allocator.
    to_link: custom operators whose kernels this package lacks.
    """

    name: str
    kernels: dict[str, int]
    flops: int
    bytes: int
    delegates: tuple[DelegateReport, ...]
    fallbacks: tuple[Fallback, ...]
    arenas: dict[int, int]
    method_allocator_bytes: int | None
    note: str
    temp_peak: TempPeak
    unbounded: tuple[str, ...]
    to_link: tuple[str, ...]


@dataclass(frozen=True)
class LoweringReport:
    """Lowering report of a program.

    target_checked: `to_executorch` checked the program against the target.
    constant_bytes: of all constants in the file, each counted once.
    named_data_bytes: of the delegates' named data in the file, each counted once.
    data_file_bytes: .ptd file → its size.
    constant_methods: method that only returns constants → bytes that loading takes from the method allocator, its only
    memory; None if unknown.
    """

    target_checked: bool
    constant_bytes: int
    named_data_bytes: int
    data_file_bytes: dict[str, int]
    methods: tuple[MethodReport, ...]
    constant_methods: dict[str, int | None]

    def as_dict(self) -> dict[str, object]:
        """Return the report as dicts and lists."""
        return asdict(self)

    def as_json(self) -> str:
        """Return `as_dict()` as indented JSON."""
        return json.dumps(self.as_dict(), indent=2)

    def __str__(self) -> str:
        return render(self)


def fallbacks_of(graph_module: fx.GraphModule) -> tuple[Fallback, ...]:
    """Return the fallbacks, the most expensive first."""
    fallbacks = [_fallback(node, op.name()) for node, op in operators_of(graph_module) if FALLBACK in node.meta]
    return tuple(sorted(fallbacks, key=lambda fallback: (-fallback.flops, -fallback.bytes)))


def _fallback(node: fx.Node, operator: str) -> Fallback:
    cost = cost_of(node)
    return Fallback(
        node=node.name,
        operator=operator,
        reasons=dict(node.meta[FALLBACK]),
        flops=cost.flops,
        bytes=cost.bytes,
        module=module_path(node),
        source=source_line(node),
    )


def _delegate(module: LoweredBackendModule, target_checked: bool) -> DelegateReport:
    calls = list(operators_of(module.original_module.graph_module))
    cost = _sum(cost_of(node) for node, _ in calls)
    built = True if target_checked and can_dry_build(module.backend_id) else None
    payload = len(module.processed_bytes)
    return DelegateReport(module.backend_id, len(calls), payload, cost.flops, cost.bytes, built, _precisions(calls))


def _precisions(calls: Iterable[tuple[fx.Node, OpOverload | EdgeOpOverload]]) -> dict[str, dict[str, int]]:
    calls_of: dict[str, Counter[str]] = {}
    for node, op in calls:
        calls_of.setdefault(op.name(), Counter())[precision_of(node)] += 1
    return {operator: dict(calls_of[operator]) for operator in sorted(calls_of)}


def _sum(costs: Iterable[Cost]) -> Cost:
    return sum(costs, Cost())


def lowering_report(
    programs: Mapping[str, ExportedProgram],
    emitted: Program,
    file: bytes,
    named_data: NamedDataStoreOutput | None = None,
    data_files: Mapping[str, bytes] | None = None,
    target_checked: bool = True,
) -> LoweringReport:
    """Return the report of a program.

    programs: planned programs by method name. emitted: the program emitted from them. file: its bytes.
    named_data: of its delegates. data_files: .ptd files beside it.
    """
    measured = _method_allocator_bytes(file)
    allocator_bytes, note = ({}, measured.reason) if isinstance(measured, Rejection) else (measured, "")
    plans = {plan.name: plan for plan in emitted.execution_plan}
    methods = tuple(
        _method(program, plans[name], file, target_checked, allocator_bytes.get(name), note)
        for name, program in programs.items()
    )
    named = set() if named_data is None else {entry.buffer_index for entry in named_data.pte_data.values()}
    return LoweringReport(
        target_checked=target_checked,
        constant_bytes=sum(len(buffer.storage) for buffer in emitted.constant_buffer),
        named_data_bytes=0 if named_data is None else sum(len(named_data.buffers[index]) for index in named),
        data_file_bytes={name: len(data) for name, data in (data_files or {}).items()},
        methods=methods,
        constant_methods={name: allocator_bytes.get(name) for name in plans if name not in programs},
    )


def _method(
    program: ExportedProgram,
    plan: ExecutionPlan,
    file: bytes,
    target_checked: bool,
    allocator_bytes: int | None,
    note: str,
) -> MethodReport:
    calls = list(operators_of(program.graph_module))
    kernels = [op.name() for _, op in calls]
    cost = _sum(cost_of(node) for node, _ in calls)
    modules = [
        m for graph_module in all_graph_modules(program.graph_module) for m in get_lowered_backend_modules(graph_module)
    ]
    return MethodReport(
        name=plan.name,
        kernels={kernel: kernels.count(kernel) for kernel in sorted(set(kernels))},
        flops=cost.flops,
        bytes=cost.bytes,
        delegates=tuple(_delegate(module, target_checked) for module in modules),
        fallbacks=fallbacks_of(program.graph_module),
        arenas={id_: size for id_, size in enumerate(plan.non_const_buffer_sizes) if id_ > 0},
        method_allocator_bytes=allocator_bytes,
        note=note,
        temp_peak=temp_peak(file, plan, program.graph_module, cost.flops),
        unbounded=unbounded_tensors(program.graph_module),
        to_link=tuple(operators_to_link(program.graph_module, installed_kernels())),
    )


def _method_allocator_bytes(file: bytes) -> dict[str, int] | Rejection:
    """Return the bytes by method."""
    runtime = installed_runtime()
    if runtime is None:
        return Rejection("the runtime is not installed")
    try:
        return runtime.method_allocator_bytes(file)
    except RuntimeError as error:
        return Rejection(str(error).splitlines()[0])


def check_strict(method: str, graph_module: fx.GraphModule, strict: bool) -> None:
    """Warn of fallbacks through the logger of this module. With `strict`, raise `VerificationError` instead."""
    fallbacks = fallbacks_of(graph_module)
    if not fallbacks:
        return
    if strict:
        nodes = {node.name: node for node, _ in operators_of(graph_module)}
        hint = "EdgeCompileConfig.strict is set: a fallback from a requested partitioner is an error"
        findings = [(nodes[fallback.node], _why(fallback)) for fallback in fallbacks]
        raise VerificationError("strict delegation", [*findings, (None, hint)])
    total = sum(fallback.flops for fallback in fallbacks)
    lines = [f"{x.operator} ({x.flops:,} FLOPs) from {x.source or x.node}: {_why(x)}" for x in fallbacks]
    listed = "".join(f"\n  {line}" for line in lines[:_LISTED])
    more = f"\n  and {len(fallbacks) - _LISTED} more" if len(fallbacks) > _LISTED else ""
    _logger.warning(
        "method %s: %d operators are not delegated and run on portable kernels (%s FLOPs in all); "
        "ExecutorchProgramManager.verdict lists them%s%s",
        *(method, len(fallbacks), f"{total:,}", listed, more),
    )


def _why(one: Fallback) -> str:
    return "; ".join(f"{partitioner}: {reason}" for partitioner, reason in one.reasons.items())
