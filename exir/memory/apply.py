# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Planning of a whole method: lifetimes, the algorithm, the checks, the record of the plan."""

from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule

from executorch.exir.graph_module import all_graph_modules
from executorch.exir.memory.algorithms.suite import MemoryPlanningAlgorithmSuite
from executorch.exir.memory.check.by_execution import check_by_execution
from executorch.exir.memory.check.by_lifespans import check_by_lifespans
from executorch.exir.memory.errors import MemoryPlanningError
from executorch.exir.memory.lifetimes.in_place import end_overwritten, find_in_place
from executorch.exir.memory.lifetimes.liveness import Liveness, find_lifetimes
from executorch.exir.memory.lifetimes.specs import (
    constant_names,
    get_graph_input_tensors,
    get_graph_output_tensors,
    get_node_tensor_specs,
    mutable_buffer_names,
    placeholder_specs,
    share_specs_of_written_tensors,
    written_placeholder_names,
)
from executorch.exir.memory.lifetimes.subgraphs import bind_subgraphs, placeholders
from executorch.exir.memory.plan import MEMORY_PLAN, describe_plan
from executorch.exir.memory.result import MemoryAlgoResult, MemoryPlanningAlgorithm
from executorch.exir.memory.sizes.parametric import PARAMETRIC_PLAN, keep_apart, make_parametric
from executorch.exir.tensor import TensorSpec


def _left_out(
    graph_module: GraphModule,
    graph_signature: ExportGraphSignature | None,
    inputs: bool,
    outputs: bool,
    mutable_buffers: bool,
) -> set[TensorSpec]:
    """Return the tensors that are left out of the plan: inputs, outputs or mutable buffers whose flag is False."""
    left_out: set[TensorSpec] = set()
    if not inputs:
        left_out |= get_graph_input_tensors(graph_module.graph.nodes, graph_signature)
    if not outputs:
        left_out |= get_graph_output_tensors(graph_module.graph.nodes)
    mutable = placeholder_specs(graph_module.graph.nodes, mutable_buffer_names(graph_signature))
    return left_out - mutable if mutable_buffers else left_out | mutable


def _arena_sizes(algo: MemoryPlanningAlgorithm, outcome: MemoryAlgoResult | list[int]) -> tuple[list[int], list[int]]:
    """Return the bytes of each arena, entry 0 unused, and their lower bounds, as far as the algorithm proved them."""
    proven: list[int] = []
    if isinstance(outcome, MemoryAlgoResult):
        outcome.write_to_specs()
        proven, outcome = outcome.lower_bounds, outcome.bufsizes
    elif isinstance(algo, MemoryPlanningAlgorithmSuite) and algo.result is not None:
        proven = algo.result.lower_bounds
    return list(outcome) + [0] * (2 - len(outcome)), proven


def apply_algo(
    algo: MemoryPlanningAlgorithm,
    graph_module: GraphModule,
    alignment: int,
    graph_signature: ExportGraphSignature | None = None,
    alloc_graph_input: bool = True,
    alloc_graph_output: bool = True,
    alloc_mutable_buffers: bool = True,
    enable_non_cpu_memory_planning: bool = False,
    *,
    allow_overlap: bool = False,
    parametric: bool = False,
) -> list[int]:
    """Plan a method with its control-flow subgraphs, check the plan and return the arena sizes in bytes.

    Writes the places to the specs, the sizes to graph_module.meta["non_const_buffer_sizes"], the MemoryPlan to
    graph_module.meta["memory_plan"]. The lifetime of an operand that is overwritten by the result of its last use
    ends before that step.
    enable_non_cpu_memory_planning: ignored; a tensor on another device is an error. allow_overlap: accept tensors
    that share bytes while alive. parametric: plan arena 1 also as a function of the inputs' sizes
    (graph_module.meta["parametric_plan"]), with inputs and state in arena 2.
    Raises MemoryPlanningError.
    """
    liveness = prepare(graph_module, graph_signature)
    left_out = _left_out(graph_module, graph_signature, alloc_graph_input, alloc_graph_output, alloc_mutable_buffers)
    planned = [
        spec
        for spec in liveness.names
        if spec not in left_out and not spec.const and not spec.is_dynamic_unbound_tensor
    ]
    names = {spec: liveness.names[spec] for spec in planned}
    _check_devices(names)
    if parametric:
        given = {spec for node in placeholders(graph_module) for spec in get_node_tensor_specs(node)}
        keep_apart([spec for spec in planned if spec in given], names)
    in_place = find_in_place(graph_module, planned, graph_signature)
    outcome = algo(alignment, planned, graph_module, graph_signature, 0)
    sizes, proven = _arena_sizes(algo, outcome)
    check_by_lifespans(names, sizes, allow_overlap, in_place)
    if not allow_overlap:
        kept = placeholder_specs(graph_module.graph.nodes, written_placeholder_names(graph_signature))
        check_by_execution(graph_module, names, kept, in_place)
    if parametric:
        by_sizes = make_parametric(graph_module, names, sizes, in_place, graph_signature)
        if by_sizes is not None:
            graph_module.meta[PARAMETRIC_PLAN] = by_sizes
    end_overwritten(in_place)
    plan = describe_plan(graph_module, names, sizes, liveness.last_step, in_place, proven)
    graph_module.meta[MEMORY_PLAN] = plan
    graph_module.meta["non_const_buffer_sizes"] = sizes
    return sizes


def _check_devices(names: dict[TensorSpec, str]) -> None:
    for spec, name in names.items():
        if spec.device.name != "CPU":
            raise MemoryPlanningError(name, f"is on device {spec.device.name}; programs have only CPU memory")


def prepare(graph_module: GraphModule, graph_signature: ExportGraphSignature | None = None) -> Liveness:
    """Do all that precedes the algorithm: bind the specs of allocs, constants and subgraphs, set the lifetimes."""
    for module in all_graph_modules(graph_module):
        share_specs_of_written_tensors(module)
    for spec in placeholder_specs(graph_module.graph.nodes, constant_names(graph_signature)):
        spec.const = True
    bind_subgraphs(graph_module)
    return find_lifetimes(graph_module, graph_signature)


def update_all_tensors_lifetime(
    graph_module: GraphModule, graph_signature: ExportGraphSignature | None = None
) -> set[TensorSpec]:
    """Set `lifetime` of every tensor's spec, [first, last] step, and return the specs: for planners that users write.

    The steps are those of `executorch.exir.memory.lifetimes.liveness`. The graph is one of out variants, with specs.
    """
    return set(prepare(graph_module, graph_signature).names)
