# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Putting a graph that a pass returned back into its program: signature and names follow the new graph."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torch import fx
from torch._export.verifier import Verifier
from torch.export import ExportedProgram
from torch.export.exported_program import ModuleCallEntry
from torch.export.graph_signature import ExportGraphSignature, InputSpec, OutputSpec

from executorch.exir.error import ExportError
from executorch.exir.rewrite.fake_values import give_missing_values
from executorch.exir.rewrite.program_constants import lift_tensor_attributes
from executorch.exir.verification.verifier import WellFormed


def _input_specs(specs: list[InputSpec], placeholders: list[fx.Node]) -> list[InputSpec]:
    if len(specs) != len(placeholders):
        raise ExportError(
            "update program",
            None,
            f"a pass changed the number of inputs: {len(specs)} in the signature, {len(placeholders)} in the graph",
        )
    return [replace(spec, arg=_named(spec.arg, node)) for spec, node in zip(specs, placeholders, strict=True)]


def _output_specs(specs: list[OutputSpec], outputs: list[Any]) -> list[OutputSpec]:
    if len(specs) != len(outputs):
        raise ExportError(
            "update program",
            None,
            f"a pass changed the number of outputs: {len(specs)} in the signature, {len(outputs)} in the graph",
        )
    return [
        replace(spec, arg=_named(spec.arg, node)) if isinstance(node, fx.Node) else spec
        for spec, node in zip(specs, outputs, strict=True)
    ]


def _named(argument: Any, node: fx.Node) -> Any:
    return replace(argument, name=node.name) if hasattr(argument, "name") else argument


def sync_signature(program: ExportedProgram) -> None:
    """Renames what the signature says about inputs and outputs to the nodes that stand there now, in place."""
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    signature = program.graph_signature
    old = _names(signature)
    signature.input_specs[:] = _input_specs(signature.input_specs, placeholders)
    outputs = list(program.graph.output_node().args[0])
    signature.output_specs[:] = _output_specs(signature.output_specs, outputs)
    program._module_call_graph = _renamed_calls(
        program.module_call_graph, dict(zip(old, _names(signature), strict=True))
    )


def _names(signature: ExportGraphSignature) -> list[str]:
    specs: list[Any] = [*signature.input_specs, *signature.output_specs]
    return [getattr(spec.arg, "name", "") or "" for spec in specs]


def _renamed_calls(calls: list[ModuleCallEntry], names: dict[str, str]) -> list[ModuleCallEntry]:
    """The module call graph with the program's inputs and outputs under their new names.

    Only the program itself (the entry without a name) keeps its signature: inner calls are not kept apart here.
    """
    renamed = []
    for entry in calls:
        call = entry.signature
        if call is not None and entry.fqn == "":
            inputs = [_renamed(argument, names) for argument in call.inputs]
            outputs = [_renamed(argument, names) for argument in call.outputs]
            renamed.append(ModuleCallEntry(entry.fqn, replace(call, inputs=inputs, outputs=outputs)))
        else:
            renamed.append(ModuleCallEntry(entry.fqn))
    return renamed


def _renamed(argument: Any, names: dict[str, str]) -> Any:
    name = getattr(argument, "name", None) or ""
    return replace(argument, name=names[name]) if names.get(name) else argument


def with_graph(
    program: ExportedProgram, graph_module: fx.GraphModule, verifiers: list[type[Verifier]] | None = None
) -> ExportedProgram:
    """A program with another graph and the same weights. Tensors the graph holds itself become lifted constants.

    Raises `ExportError` if inputs or outputs changed in number.
    """
    old = program.graph_signature
    give_missing_values(graph_module)
    placeholders = [node for node in graph_module.graph.nodes if node.op == "placeholder"]
    outputs: Any = graph_module.graph.output_node().args[0]
    signature = ExportGraphSignature(
        input_specs=_input_specs(old.input_specs, placeholders),
        output_specs=_output_specs(old.output_specs, list(outputs)),
    )
    names = dict(zip(_names(old), _names(signature), strict=True))
    made = ExportedProgram(
        root=graph_module,
        graph=graph_module.graph,
        graph_signature=signature,
        state_dict=dict(program.state_dict),
        range_constraints=dict(program.range_constraints),
        module_call_graph=_renamed_calls(program.module_call_graph, names),
        example_inputs=program.example_inputs,
        constants=dict(program.constants),
        verifiers=[WellFormed],
    )
    made.graph_module.meta.update(graph_module.meta)
    lift_tensor_attributes(made)
    set_verifiers(made, verifiers or list(program.verifiers))
    return made


def set_verifiers(program: ExportedProgram, verifiers: list[type[Verifier]]) -> None:
    """Makes `verifiers` the ones that the program answers to, and runs them."""
    program._verifiers = list(verifiers)
    for verifier in verifiers:
        verifier().check(program)


__all__ = ["set_verifiers", "sync_signature", "with_graph"]
