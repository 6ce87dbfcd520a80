# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Signature of a program after its graph changed: the names of inputs and outputs follow the graph's nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torch import fx
from torch.export import ExportedProgram
from torch.export.exported_program import ModuleCallEntry
from torch.export.graph_signature import ExportGraphSignature, InputSpec, OutputSpec
from torch.fx.node import Argument

from executorch.exir.error import ExportError

__all__ = ["signature_of_graph", "sync_signature"]


def signature_of_graph(program: ExportedProgram, graph: fx.Graph) -> tuple[ExportGraphSignature, list[ModuleCallEntry]]:
    """Return the program's signature and module call graph with the names of the inputs and outputs of `graph`.

    Raises ExportError if their number differs.
    """
    old = program.graph_signature
    outputs: Any = graph.output_node().args[0]
    signature = ExportGraphSignature(
        input_specs=_input_specs(old.input_specs, [node for node in graph.nodes if node.op == "placeholder"]),
        output_specs=_output_specs(old.output_specs, list(outputs)),
    )
    names = dict(zip(_names(old), _names(signature), strict=True))
    return signature, _renamed_calls(program.module_call_graph, names)


def sync_signature(program: ExportedProgram) -> None:
    """Rename the inputs and outputs in the signature, in place, after the nodes of the program's graph."""
    signature, module_calls = signature_of_graph(program, program.graph)
    program.graph_signature.input_specs[:] = signature.input_specs
    program.graph_signature.output_specs[:] = signature.output_specs
    program._module_call_graph = module_calls


def _input_specs(specs: list[InputSpec], placeholders: list[fx.Node]) -> list[InputSpec]:
    if len(specs) != len(placeholders):
        raise ExportError(
            "update program",
            None,
            f"a pass changed the number of inputs: {len(specs)} in the signature, {len(placeholders)} in the graph",
        )
    return [replace(spec, arg=_named(spec.arg, node)) for spec, node in zip(specs, placeholders, strict=True)]


def _output_specs(specs: list[OutputSpec], outputs: list[Argument]) -> list[OutputSpec]:
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


def _names(signature: ExportGraphSignature) -> list[str]:
    specs: list[InputSpec | OutputSpec] = [*signature.input_specs, *signature.output_specs]
    return [getattr(spec.arg, "name", "") or "" for spec in specs]


def _renamed_calls(calls: list[ModuleCallEntry], names: dict[str, str]) -> list[ModuleCallEntry]:
    """Return the module call graph with the new names of the program's inputs and outputs.

    Only the program itself (the entry without a name) keeps its signature.
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
