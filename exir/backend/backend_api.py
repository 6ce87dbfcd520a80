# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`to_backend`: hand a whole program, or the partitions that a partitioner tags, to backends.

Every form takes the same steps: tag → find partitions → convert each to a program → preprocess → replace each with a
call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from torch.export import ExportedProgram

from executorch.exir.backend.backend_details import PreprocessResult, find_backend
from executorch.exir.backend.delegate.delegate_call import insert_delegate_calls
from executorch.exir.backend.delegate.graph_identity import first_difference
from executorch.exir.backend.partition.fallback import NodeKey, keep_fallbacks, reasons_collected
from executorch.exir.backend.partition.partition_error import PartitionError
from executorch.exir.backend.partition.partition_program import make_partition_program
from executorch.exir.backend.partition.tagged_partitions import TaggedPartition, find_partitions
from executorch.exir.backend.partition.validation import disable_validation, validation_disabled, validation_enabled
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.lowered_backend_module import LoweredBackendModule
from executorch.exir.rewrite.program_copy import copy_program
from executorch.exir.schema import CompileSpec

__all__ = [
    "MethodProgramsPartitionerSpec",
    "PartitionError",
    "disable_validation",
    "to_backend",
    "validation_disabled",
]


@singledispatch
def to_backend(args: object, *rest: object) -> Any:
    """Delegate a program or its partitions. The first argument selects one of three forms:

    `to_backend(backend_id: str, program: ExportedProgram, compile_specs: list[CompileSpec]) -> LoweredBackendModule`
        the whole program becomes one delegate.
    `to_backend(program: ExportedProgram, partitioner: Partitioner) -> ExportedProgram`
        the partitions that the partitioner tags become delegate calls; the rest stays.
    `to_backend(MethodProgramsPartitionerSpec) -> dict[str, ExportedProgram]`
        the same for several methods, each backend seeing all its partitions at once (`preprocess_multimethod`).

    The programs given do not change. Raises TypeError for another first argument, NotImplementedError for an unknown
    backend, and PartitionError for tags that cannot be delegated.
    """
    raise TypeError(
        "to_backend takes a backend id with an ExportedProgram, an ExportedProgram with a Partitioner, or a "
        f"MethodProgramsPartitionerSpec first; found {type(args).__name__}"
    )


@dataclass
class MethodProgramsPartitionerSpec:
    """Programs by method name, and the partitioner of each method to partition; other methods stay unchanged."""

    method_to_edge_program: Mapping[str, ExportedProgram]
    method_to_partitioner: Mapping[str, Partitioner]


@to_backend.register
def _whole_program(
    backend_id: str, edge_program: ExportedProgram, compile_specs: list[CompileSpec]
) -> LoweredBackendModule:
    _require(edge_program, ExportedProgram, f"to_backend({backend_id!r}, ...): second argument")
    result = find_backend(backend_id).preprocess(copy_program(edge_program), compile_specs)
    return _lowered_module(edge_program, DelegationSpec(backend_id, compile_specs), result)


@to_backend.register
def _one_method(edge_program: ExportedProgram, partitioner_instance: Partitioner) -> ExportedProgram:
    _require(partitioner_instance, Partitioner, "to_backend(ExportedProgram, ...): second argument")
    program, partitions, reasons = _partition(edge_program, partitioner_instance)
    lowered = [
        (
            partition,
            _whole_program(
                partition.delegation.backend_id,
                make_partition_program(partition, program),
                partition.delegation.compile_specs,
            ),
        )
        for partition in partitions
    ]
    return _delegated(program, lowered, partitioner_instance, reasons)


@to_backend.register
def _several_methods(spec: MethodProgramsPartitionerSpec) -> dict[str, ExportedProgram]:
    unknown = sorted(set(spec.method_to_partitioner) - set(spec.method_to_edge_program))
    if unknown:
        raise ValueError(
            f"to_backend: partitioners for methods {unknown} without programs; "
            f"methods: {sorted(spec.method_to_edge_program)}"
        )
    tagged: dict[str, tuple[ExportedProgram, dict[NodeKey, str]]] = {}
    to_lower: dict[str, list[tuple[TaggedPartition, ExportedProgram]]] = {}
    for method, partitioner in spec.method_to_partitioner.items():
        _require(partitioner, Partitioner, f"to_backend: partitioner of method {method!r}")
        program, partitions, reasons = _partition(spec.method_to_edge_program[method], partitioner)
        tagged[method] = program, reasons
        to_lower[method] = [(partition, make_partition_program(partition, program)) for partition in partitions]

    modules: dict[int, LoweredBackendModule] = {}
    backend_ids = {partition.delegation.backend_id: None for parts in to_lower.values() for partition, _ in parts}
    for backend_id in backend_ids:
        modules.update(_lower_with(backend_id, to_lower))
    lowered = {
        method: _delegated(
            program,
            [(partition, modules[id(partition)]) for partition, _ in to_lower[method]],
            spec.method_to_partitioner[method],
            reasons,
        )
        for method, (program, reasons) in tagged.items()
    }
    return {method: lowered.get(method, program) for method, program in spec.method_to_edge_program.items()}


def _delegated(
    program: ExportedProgram,
    lowered: list[tuple[TaggedPartition, LoweredBackendModule]],
    partitioner: Partitioner,
    reasons: dict[NodeKey, str],
) -> ExportedProgram:
    """Return the program with delegate calls. Record on all other nodes why the partitioner left them."""
    delegated = insert_delegate_calls(program, lowered)
    keep_fallbacks(delegated.graph_module, type(partitioner).__name__, reasons)
    return delegated


def _lower_with(
    backend_id: str, to_lower: Mapping[str, list[tuple[TaggedPartition, ExportedProgram]]]
) -> dict[int, LoweredBackendModule]:
    """Lower the partitions of one backend in all methods; return the lowered module of each partition, keyed by
    id(partition)."""
    own = {
        method: [item for item in parts if item[0].delegation.backend_id == backend_id]
        for method, parts in to_lower.items()
    }
    own = {method: parts for method, parts in own.items() if parts}
    results = find_backend(backend_id).preprocess_multimethod(
        {method: [copy_program(program) for _, program in parts] for method, parts in own.items()},
        {method: [partition.delegation.compile_specs for partition, _ in parts] for method, parts in own.items()},
    )
    modules = {}
    for method, parts in own.items():
        returned = len(results.get(method, ()))
        if returned != len(parts):
            raise RuntimeError(
                f"{backend_id}.preprocess_multimethod: method {method!r} has {len(parts)} partitions, "
                f"{returned} results returned"
            )
        for (partition, program), result in zip(parts, results[method], strict=True):
            modules[id(partition)] = _lowered_module(program, partition.delegation, result)
    return modules


def _partition(
    program: ExportedProgram, partitioner: Partitioner
) -> tuple[ExportedProgram, list[TaggedPartition], dict[NodeKey, str]]:
    """Return a tagged copy of the program, its partitions, and the partitioner's reasons for leaving other nodes."""
    name = type(partitioner).__name__
    with reasons_collected() as reasons:
        result = partitioner(copy_program(program))
    if not isinstance(result, PartitionResult):
        raise TypeError(f"{name}.partition should return a PartitionResult, found {type(result).__name__}")
    tagged = result.tagged_exported_program
    if validation_enabled():
        difference = first_difference(tagged.graph_module, program.graph_module)
        if difference is not None:
            raise PartitionError(
                f"the partitioner {name} should only tag nodes, but it changed the graph: {difference}"
            )
    if not isinstance(result.partition_tags, dict):
        raise PartitionError(
            f"{name}: partition_tags should map tags to DelegationSpec, found {type(result.partition_tags).__name__}"
        )
    return tagged, find_partitions(tagged, result.partition_tags), reasons


def _lowered_module(
    program: ExportedProgram, delegation: DelegationSpec, result: PreprocessResult
) -> LoweredBackendModule:
    _require(result, PreprocessResult, f"{delegation.backend_id}.preprocess: result")
    module = LoweredBackendModule(
        edge_program=program,
        backend_id=delegation.backend_id,
        processed_bytes=result.processed_bytes,
        compile_specs=delegation.compile_specs,
        named_data_store_output=result.data_store_output,
    )
    module.meta = {"debug_handle_map": result.debug_handle_map}
    if result._delegate_info_meta is not None:
        module.meta["_delegate_info_meta"] = result._delegate_info_meta
    return module


def _require(value: object, kind: type, what: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{what} should be a {kind.__name__}, found {type(value).__name__}")
