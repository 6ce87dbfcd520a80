# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Which operator of a delegate is wrong, of any backend: parts of what it was compiled from, each as long as needed,
compiled again by the same backend and run on the delegate's inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, InputKind, OutputKind, OutputSpec, TensorArgument

from executorch.devtools.inspector.reference_run import Reference
from executorch.exir import ExecutorchProgramManager
from executorch.exir.backend.backend_api import to_backend
from executorch.exir.backend.partition_program import flat_call
from executorch.exir.backend.program_copy import copy_program
from executorch.exir.error import ExportError
from executorch.exir.lowered_backend_module import LoweredBackendModule, get_lowered_backend_modules
from executorch.exir.schema import DelegateCall, ExecutionPlan
from executorch.runtime import Runtime


@dataclass(frozen=True)
class Part:
    """The value of a node of the delegate's program, and what the backend gives for it when it computes just as far.
    differs: it is beyond the tolerance."""

    node: fx.Node
    expected: torch.Tensor
    found: torch.Tensor
    differs: bool


Differs = Callable[[torch.Tensor, torch.Tensor], bool]
# What a backend may say of a part that it does not compile by itself.
_REFUSALS = (RuntimeError, ValueError, TypeError, KeyError, AssertionError, NotImplementedError, ExportError)


def delegate_of(
    made: ExecutorchProgramManager, method: str, plan: ExecutionPlan, instruction: int
) -> LoweredBackendModule:
    """What the delegate that an instruction calls was compiled from. Raises ValueError where that cannot be told, as
    inside of control flow."""
    calls = [
        number for number, each in enumerate(plan.chains[0].instructions) if isinstance(each.instr_args, DelegateCall)
    ]
    modules = get_lowered_backend_modules(made.exported_program(method).graph_module)
    if len(calls) != len(modules) or instruction not in calls:
        raise ValueError(
            f"instruction {instruction} of '{method}': the program calls {len(calls)} delegates, {len(modules)} of "
            "them outside of control flow: it is not known which this is"
        )
    return modules[calls.index(instruction)]


def tried_parts(delegate: LoweredBackendModule, inputs: Sequence[torch.Tensor], differs: Differs) -> list[Part]:
    """By halves, to the shortest part of which a result differs: it ends with the operator that is wrong. If no part
    differs, what the backend makes now is right.

    A part is the program up to a node, and returns all that is read after it: a wrong value is among that from the
    node on that makes it. Parts that the backend does not compile by themselves are left out.
    """
    program = delegate.original_module
    values = {node.name: value for node, value in Reference(program).run(inputs).last().items()}
    nodes = [node for node in program.graph.nodes if node.op == "call_function"]
    tried: dict[int, list[Part]] = {}

    def parts(index: int) -> list[Part]:
        if index not in tried:
            live = _read_later(nodes, index)
            found = _results(delegate, live, inputs) if all(_is_tensor(values.get(node.name)) for node in live) else []
            pairs = [(node, values[node.name], value) for node, value in zip(live, found, strict=False)]
            tried[index] = [Part(node, a, b, a.shape != b.shape or differs(a, b)) for node, a, b in pairs]
        return tried[index]

    right, end = 0, len(nodes)
    while right < end:
        middle = (right + end) // 2
        at = next((index for index in range(middle, end) if parts(index)), None)
        if at is None or any(part.differs for part in parts(at)):
            end = middle
        else:
            right = at + 1
    return [part for _, found in sorted(tried.items()) for part in found]


def _read_later(nodes: Sequence[fx.Node], index: int) -> list[fx.Node]:
    done = set(nodes[: index + 1])
    return [node for node in nodes[: index + 1] if any(user not in done for user in node.users)]


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _results(
    delegate: LoweredBackendModule, live: Sequence[fx.Node], inputs: Sequence[torch.Tensor]
) -> list[torch.Tensor]:
    """What the backend computes for the nodes on the delegate's inputs; nothing if it does not compile that."""
    part, used = _ending_with(delegate.original_module, [node.name for node in live])
    try:
        alone = to_backend(delegate.backend_id, part, delegate.compile_specs).buffer()
    except _REFUSALS:
        return []
    method = Runtime.get().load_program(alone).load_method("forward")
    return list(method.execute([inputs[number] for number in used]))


def _ending_with(program: ExportedProgram, names: Sequence[str]) -> tuple[ExportedProgram, list[int]]:
    """The program with these nodes as outputs and nothing that they do not need, and which inputs are left."""
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
    made = ExportedProgram(
        root=copied.graph_module,
        graph=graph,
        graph_signature=ExportGraphSignature(input_specs=kept, output_specs=outputs),
        state_dict=copied.state_dict,
        range_constraints=copied.range_constraints,
        module_call_graph=[flat_call(len(used), len(names))],
        constants=copied.constants,
        verifiers=copied.verifiers,
    )
    return made, used
