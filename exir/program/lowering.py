# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Lowering to the edge dialect and to backends in one step, which keeps operators whole for partitioners."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from torch import fx
from torch._ops import OpOverload
from torch.export import ExportedProgram

from executorch.exir.backend.partitioner import Partitioner
from executorch.exir.capture import EdgeCompileConfig
from executorch.exir.decompose.call_body import aten_operator
from executorch.exir.decompose.constant_scalars import states_of
from executorch.exir.passes.simplify.fold_constants import fold_for_backends
from executorch.exir.passes.simplify.index_repeated_places import index_repeated_places
from executorch.exir.program.edge import edge_program, methods_of
from executorch.exir.program.edge_manager import EdgeProgramManager
from executorch.exir.program.late_decomposition import calls_of, decompose_calls
from executorch.exir.program.transform import Passes

# Operators that a partitioner preserves, and a predicate for their calls (None: all calls).
Keep = tuple[list[OpOverload], Callable[[fx.Node], bool] | None]


def _partitioners_of(
    partitioner: Sequence[Partitioner] | Mapping[str, list[Partitioner]] | Partitioner | None, method: str
) -> list[Partitioner]:
    wanted = partitioner.get(method) if isinstance(partitioner, Mapping) else partitioner
    if wanted is None:
        return []
    return [wanted] if isinstance(wanted, Partitioner) else list(wanted)


def _is_wanted(node: fx.Node, keeps: list[Keep]) -> bool:
    """Return whether a partitioner keeps a call. As in ExecuTorch 1.4, filters see the ATen operator as its target."""
    target = node.target
    node.target = aten_operator(node)
    try:
        return any(node.target in operators and (accepts is None or accepts(node)) for operators, accepts in keeps)
    finally:
        node.target = target


def _lower_method(
    program: ExportedProgram, partitioners: Sequence[Partitioner], config: EdgeCompileConfig, states: Collection[str]
) -> tuple[ExportedProgram, list[OpOverload]]:
    """Return the edge program, with the calls that a partitioner preserves, and the operators of these calls."""
    keeps: list[Keep] = [partitioner.ops_to_not_decompose(program) for partitioner in partitioners]
    kept = list(dict.fromkeys(op for operators, _ in keeps for op in operators))
    edge = edge_program(program, config, kept, states)
    decomposable = [op for op in kept if op not in config.preserve_ops]
    rejected = [(module, node) for module, node in calls_of(edge, decomposable) if not _is_wanted(node, keeps)]
    decompose_calls(edge, rejected, config)
    return edge, decomposable


def to_edge_transform_and_lower(
    programs: ExportedProgram | dict[str, ExportedProgram],
    transform_passes: Passes | Mapping[str, Passes] | None = None,
    partitioner: list[Partitioner] | dict[str, list[Partitioner]] | None = None,
    constant_methods: dict[str, object] | None = None,
    compile_config: EdgeCompileConfig | None = None,
    generate_etrecord: bool = False,
) -> EdgeProgramManager:
    """Lower exported programs to the edge dialect, run `transform_passes`, delegate with each partitioner in turn.

    Operators that a partitioner's `ops_to_not_decompose` names reach it whole; calls that no partitioner takes are
    decomposed afterwards. Without partitioners this is `to_edge` with passes. partitioner: one list, or a list by
    method name.
    generate_etrecord: record the export: `get_etrecord()` of the finished program returns an
    `executorch.devtools.ETRecord`.
    """
    return lower(
        methods_of(programs),
        partitioner,
        constant_methods,
        compile_config or EdgeCompileConfig(),
        transform_passes=transform_passes,
        generate_etrecord=generate_etrecord,
    )


def lower(
    methods: Mapping[str, ExportedProgram],
    partitioner: Sequence[Partitioner] | Mapping[str, list[Partitioner]] | None,
    constant_methods: dict[str, object] | None,
    config: EdgeCompileConfig,
    *,
    transform_passes: Passes | Mapping[str, Passes] | None = None,
    generate_etrecord: bool = False,
) -> EdgeProgramManager:
    """Like `to_edge_transform_and_lower`, for programs whose types have been checked."""
    chosen = {name: _partitioners_of(partitioner, name) for name in methods}
    states = states_of(methods.values())
    lowered = {name: _lower_method(program, chosen[name], config, states) for name, program in methods.items()}
    kept = {op for _, operators in lowered.values() for op in operators}
    edge = {name: program for name, (program, _) in lowered.items()}
    manager = EdgeProgramManager(edge, constant_methods, config, sorted(kept, key=str))
    if transform_passes is not None:
        manager = manager.transform(transform_passes)
    for name, wanted in chosen.items():
        if wanted:
            fold_for_backends(manager.exported_program(name))
            index_repeated_places(manager.exported_program(name))
    if generate_etrecord:
        manager.record_from(dict(methods), transformed=transform_passes is not None)
    for position in range(max((len(wanted) for wanted in chosen.values()), default=0)):
        manager = manager.to_backend(
            {name: wanted[position] for name, wanted in chosen.items() if position < len(wanted)}
        )
    for name in manager.methods if kept else ():
        program = manager.exported_program(name)
        decompose_calls(program, calls_of(program, kept), config)
    finished = {name: manager.exported_program(name) for name in methods}
    lowered_manager = EdgeProgramManager(finished, constant_methods, config)
    lowered_manager._etrecord = manager._etrecord
    return lowered_manager
