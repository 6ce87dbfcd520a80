# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Describe in-place writes to state as torch.export does: the program returns the new values before other outputs.

forward(count, x):  count.add_(1); return x        →        forward(count, x):  new = count + 1; return new, x
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind, OutputSpec, TensorArgument

# Kinds of writable inputs → kind of the output that updates them.
_OUTPUTS = {
    InputKind.BUFFER: OutputKind.BUFFER_MUTATION,
    InputKind.USER_INPUT: OutputKind.USER_INPUT_MUTATION,
}


def writable_state(program: ExportedProgram) -> list[fx.Node]:
    """Return the placeholders of buffers and of the user's inputs."""
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
                target = spec.target if spec.kind is InputKind.BUFFER else spec.arg.name
                specs.append(OutputSpec(_OUTPUTS[spec.kind], TensorArgument(name=value.name), target))
                values.append(value)
    signature.output_specs[:0] = specs
    output.args = ((*values, *output.args[0]),)
    output.meta.pop("val", None)
