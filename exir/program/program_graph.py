# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Put a graph that a pass returned back into its program, and verify it."""

from __future__ import annotations

from torch import fx
from torch._export.verifier import Verifier
from torch.export import ExportedProgram

from executorch.exir.rewrite.fake_values import give_missing_values
from executorch.exir.rewrite.program_constants import lift_tensor_attributes
from executorch.exir.rewrite.program_signature import signature_of_graph
from executorch.exir.verification.verifier import WellFormed


def with_graph(
    program: ExportedProgram, graph_module: fx.GraphModule, verifiers: list[type[Verifier]] | None = None
) -> ExportedProgram:
    """Return a program with another graph and the same weights. Tensor attributes of the graph become lifted constants.

    Raises ExportError if the number of inputs or outputs changed.
    """
    give_missing_values(graph_module)
    signature, module_calls = signature_of_graph(program, graph_module.graph)
    new_program = ExportedProgram(
        root=graph_module,
        graph=graph_module.graph,
        graph_signature=signature,
        state_dict=dict(program.state_dict),
        range_constraints=dict(program.range_constraints),
        module_call_graph=module_calls,
        example_inputs=program.example_inputs,
        constants=dict(program.constants),
        verifiers=[WellFormed],
    )
    new_program.graph_module.meta.update(graph_module.meta)
    lift_tensor_attributes(new_program)
    set_verifiers(new_program, verifiers or list(program.verifiers))
    return new_program


def set_verifiers(program: ExportedProgram, verifiers: list[type[Verifier]]) -> None:
    """Replace the program's verifiers and run them."""
    program._verifiers = list(verifiers)
    for verifier in verifiers:
        verifier().check(program)


__all__ = ["set_verifiers", "with_graph"]
