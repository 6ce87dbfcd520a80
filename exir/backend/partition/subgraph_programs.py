# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""View each control-flow graph of a program as a program, so that one partitioner function handles all graphs."""

from __future__ import annotations

from collections.abc import Iterator

from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, InputKind, InputSpec, OutputKind, OutputSpec
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_leaves

from executorch.exir.backend.partition.partition_program import argument_spec, flat_call
from executorch.exir.backend.partition.subgraph_constants import constants_in_subgraphs
from executorch.exir.graph_module import all_graph_modules

__all__ = ["programs_of"]


def programs_of(program: ExportedProgram) -> Iterator[ExportedProgram]:
    """Yield `program` itself, then each graph that its control flow runs as a program, outermost first.

    The programs share the nodes of `program`, so a tag set in one is set in `program`. A placeholder is a parameter,
    buffer or constant in the graph's signature if every call passes the same one and `program` does not update it;
    all others are inputs. Nodes must not be added or removed.
    """
    yield program
    _, *below = all_graph_modules(program.graph_module)
    constants = constants_in_subgraphs(program) if below else {}
    for body in below:
        yield _program_of(body, program, constants)


class _PartOfProgram(ExportedProgram):
    """A control-flow graph as a program. It is not verified, because its program has been, and because the verifier
    refuses results that such graphs may have: one value without a tuple, or a list."""

    def validate(self) -> None:
        pass


def _program_of(body: GraphModule, parent: ExportedProgram, constants: dict[Node, InputSpec]) -> ExportedProgram:
    graph = body.graph
    placeholders = graph.find_nodes(op="placeholder", sort=True)
    values = tree_leaves(graph.output_node().args[0])
    border = "a control-flow graph"
    targets = {str(spec.target) for spec in constants.values()}
    own = [InputSpec(InputKind.USER_INPUT, argument_spec(node, border), None) for node in placeholders]
    inputs = [constants.get(node, spec) for node, spec in zip(placeholders, own, strict=True)]
    results = [OutputSpec(OutputKind.USER_OUTPUT, argument_spec(value, border), None) for value in values]
    owner, code = graph.owning_module, graph._codegen
    subprogram = _PartOfProgram(
        root=body,
        graph=graph,
        graph_signature=ExportGraphSignature(inputs, results),
        state_dict={name: tensor for name, tensor in parent.state_dict.items() if name in targets},
        range_constraints=dict(parent.range_constraints),
        module_call_graph=[flat_call(len(placeholders), len(values))],
        constants={name: value for name, value in parent.constants.items() if name in targets},
        verifiers=list(parent.verifiers),
    )
    graph.owning_module, graph._codegen = owner, code  # the graph stays the parent's
    return subprogram
