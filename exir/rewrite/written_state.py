# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Describe in-place writes to state as torch.export does: the program returns the new values before other outputs.

forward(count, x):  count.add_(1); return x        →        forward(count, x):  new = count + 1; return new, x
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind, OutputSpec, TensorArgument

# Kinds of writable inputs → kind of the output that updates them.
_OUTPUTS = {
    InputKind.PARAMETER: OutputKind.PARAMETER_MUTATION,
    InputKind.BUFFER: OutputKind.BUFFER_MUTATION,
    InputKind.USER_INPUT: OutputKind.USER_INPUT_MUTATION,
}


def writable_state(program: ExportedProgram) -> list[fx.Node]:
    """Return the placeholders of parameters, buffers and the user's inputs."""
    kinds = {spec.arg.name: spec.kind for spec in program.graph_signature.input_specs}
    return [node for node in program.graph.find_nodes(op="placeholder") if kinds[node.name] in _OUTPUTS]


def return_written_state(program: ExportedProgram, written: Mapping[fx.Node, fx.Node]) -> None:
    """Insert the values of `written` (placeholder → new value) before the other outputs, in the order of inputs."""
    signature, output = program.graph_signature, program.graph.output_node()
    specs = []
    values = []
    for spec in signature.input_specs:
        for placeholder, value in written.items():
            if placeholder.name == spec.arg.name:
                target = spec.arg.name if spec.kind is InputKind.USER_INPUT else spec.target
                specs.append(OutputSpec(_OUTPUTS[spec.kind], TensorArgument(name=value.name), target))
                values.append(value)
    signature.output_specs[:0] = specs
    output.args = ((*values, *output.args[0]),)
    output.meta.pop("val", None)


def use_buffers_for_written_parameters(program: ExportedProgram) -> None:
    """Make the parameters that the program updates buffers, in place: all later steps know one kind of state."""
    signature = program.graph_signature
    written = set(signature.parameters_to_mutate.values())
    if not written:
        return
    signature.input_specs[:] = [
        replace(spec, kind=InputKind.BUFFER, persistent=True) if spec.target in written else spec
        for spec in signature.input_specs
    ]
    signature.output_specs[:] = [
        replace(spec, kind=OutputKind.BUFFER_MUTATION) if spec.kind is OutputKind.PARAMETER_MUTATION else spec
        for spec in signature.output_specs
    ]
