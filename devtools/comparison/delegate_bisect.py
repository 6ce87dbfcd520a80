# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Find the wrong operator of a delegate of any backend by bisection: the same backend compiles prefixes of the
delegate's program, which run on the delegate's inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, InputKind, OutputKind, OutputSpec, TensorArgument

from executorch.devtools.comparison.delegate_probe import can_open
from executorch.devtools.inspector.attribution import DELEGATE_CALL
from executorch.devtools.inspector.event import Event
from executorch.devtools.inspector.numeric_gap import Pair
from executorch.devtools.inspector.reference_run import Reference
from executorch.exir import ExecutorchProgramManager
from executorch.exir.backend.backend_api import to_backend
from executorch.exir.backend.partition.partition_program import flat_call
from executorch.exir.error import ExportError
from executorch.exir.lowered_backend_module import LoweredBackendModule, get_lowered_backend_modules
from executorch.exir.rewrite.program_copy import copy_program
from executorch.exir.schema import DelegateCall, ExecutionPlan
from executorch.runtime import Runtime


@dataclass(frozen=True)
class Part:
    """Value of a node of a delegate's program, computed by eager and by the backend compiled up to this node.

    differs: beyond the tolerance.
    """

    backend: str
    instruction: int
    node: fx.Node
    expected: torch.Tensor
    found: torch.Tensor
    differs: bool


Differs = Callable[[torch.Tensor, torch.Tensor], bool]
# Errors with which a backend may refuse to compile a part.
_REFUSALS = (RuntimeError, ValueError, TypeError, KeyError, AssertionError, NotImplementedError, ExportError)


def bisect_wrong_delegates(
    pairs: Sequence[Pair], lowered: ExecutorchProgramManager, method: str, plan: ExecutionPlan, differs: Differs
) -> tuple[list[Part], tuple[str, ...]]:
    """Bisect the delegates with a wrong output that cannot be opened.

    Returns the tried parts, and notes on delegates without a wrong part or without a part that compiles.
    """
    wrong = {
        pair.event._instruction_id: pair.event
        for pair in pairs
        if pair.event.name == DELEGATE_CALL and differs(pair.expected, pair.found)
    }
    parts: list[Part] = []
    notes = []
    for instruction, event in wrong.items():
        backend = event.delegate_backend_name or ""
        if instruction is None or can_open(backend):
            continue
        try:
            delegate, inputs = _delegate_and_inputs(lowered, method, plan, instruction, event)
        except ValueError as error:
            notes.append(f"{backend}, instruction {instruction}: {error}")
            continue
        tried = _tried(delegate, inputs, instruction, differs)
        parts += tried
        if not tried:
            notes.append(f"{backend}, instruction {instruction}: the backend compiles no part of it separately")
        elif not any(part.differs for part in tried):
            notes.append(
                f"{backend}, instruction {instruction}: recompiled, its operators are right: the program's payload "
                "differs from the recompiled one, or its inputs are wrong"
            )
    return parts, tuple(notes)


def _delegate_and_inputs(
    lowered: ExecutorchProgramManager, method: str, plan: ExecutionPlan, instruction: int, event: Event
) -> tuple[LoweredBackendModule, list[torch.Tensor]]:
    """The delegate's lowered module and the inputs of its last call. Raises ValueError if either is unknown."""
    instructions = [instruction.instr_args for instruction in plan.chains[0].instructions]
    calls = [number for number, instruction in enumerate(instructions) if isinstance(instruction, DelegateCall)]
    modules = get_lowered_backend_modules(lowered.exported_program(method).graph_module)
    if len(calls) != len(modules):
        raise ValueError(
            f"expected one call outside control flow for each delegate; found {len(calls)} for {len(modules)}"
        )
    call = instructions[instruction]
    assert isinstance(call, DelegateCall)
    given = event.debug_data[-len(call.args) :][: len(call.args) - event.num_outputs]
    if not all(isinstance(argument, torch.Tensor) for argument in given):
        raise ValueError("some of its inputs are not tensors, or were not recorded")
    return modules[calls.index(instruction)], list(given)


def _tried(
    delegate: LoweredBackendModule, inputs: Sequence[torch.Tensor], instruction: int, differs: Differs
) -> list[Part]:
    """Bisect to the shortest part with a wrong result, which ends with the wrong operator.

    A part is the program up to a node and returns every value read after that node. From the wrong operator on, each
    part therefore returns a wrong value. Parts that the backend refuses to compile are skipped.
    """
    program = delegate.original_module
    values = {node.name: value for node, value in Reference(program).run(inputs).last().items()}
    nodes = [node for node in program.graph.nodes if node.op == "call_function"]
    tried: dict[int, list[Part]] = {}

    def parts(index: int) -> list[Part]:
        if index not in tried:
            live = _read_later(nodes, index)
            results = (
                _results(delegate, live, inputs) if all(_is_tensor(values.get(node.name)) for node in live) else []
            )
            pairs = [(node, values[node.name], value) for node, value in zip(live, results, strict=False)]
            tried[index] = [
                Part(delegate.backend_id, instruction, node, a, b, differs(a, b))
                for node, a, b in pairs
                if a.shape == b.shape
            ]
        return tried[index]

    right, end = 0, len(nodes)
    while right < end:
        middle = (right + end) // 2
        at = next((index for index in range(middle, end) if parts(index)), None)
        if at is None or any(part.differs for part in parts(at)):
            end = middle
        else:
            right = at + 1
    return [part for _, of_instruction in sorted(tried.items()) for part in of_instruction]


def _read_later(nodes: Sequence[fx.Node], index: int) -> list[fx.Node]:
    done = set(nodes[: index + 1])
    return [node for node in nodes[: index + 1] if any(user not in done for user in node.users)]


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _results(
    delegate: LoweredBackendModule, live: Sequence[fx.Node], inputs: Sequence[torch.Tensor]
) -> list[torch.Tensor]:
    """The backend's values of the nodes on the delegate's inputs; empty if it refuses to compile them."""
    part, used = _ending_with(delegate.original_module, [node.name for node in live])
    try:
        alone = to_backend(delegate.backend_id, part, delegate.compile_specs).buffer()
    except _REFUSALS:
        return []
    method = Runtime.get().load_program(alone).load_method("forward")
    return list(method.execute([inputs[number] for number in used]))


def _ending_with(program: ExportedProgram, names: Sequence[str]) -> tuple[ExportedProgram, list[int]]:
    """The program pruned to these nodes as outputs, and the indices of its remaining inputs."""
    copied = copy_program(program)
    graph = copied.graph
    by_name = {node.name: node for node in graph.nodes}
    graph.output_node().args = (tuple(by_name[name] for name in names),)
    graph.eliminate_dead_code()
    kept, used, number = [], [], 0
    for spec in copied.graph_signature.input_specs:
        node = by_name[spec.arg.name]
        is_input = spec.kind is InputKind.USER_INPUT
        if node.users:
            kept.append(spec)
            used += [number] if is_input else []
        else:
            graph.erase_node(node)
        number += is_input
    graph.lint()
    outputs = [OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(name), None) for name in names]
    shortened = ExportedProgram(
        root=copied.graph_module,
        graph=graph,
        graph_signature=ExportGraphSignature(input_specs=kept, output_specs=outputs),
        state_dict=copied.state_dict,
        range_constraints=copied.range_constraints,
        module_call_graph=[flat_call(len(used), len(names))],
        constants=copied.constants,
        verifiers=copied.verifiers,
    )
    return shortened, used
