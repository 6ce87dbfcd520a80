# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Make a buffer or parameter state in methods that only read it, if another method updates it.

The reading method returns it as its own new value, which marks it as state in the signature without a copy.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind, OutputSpec, TensorArgument

_KINDS = (InputKind.PARAMETER, InputKind.BUFFER)


def read_as_state(programs: Mapping[str, ExportedProgram]) -> None:
    """Rewrite the methods that only read buffers or parameters that another method updates, in place."""
    names = {name for program in programs.values() for name in program.graph_signature.buffers_to_mutate.values()}
    if len(programs) < 2 or not names:
        return
    for program in programs.values():
        signature = program.graph_signature
        own = set(signature.buffers_to_mutate.values())
        nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
        output = program.graph.output_node()
        for spec in signature.input_specs:
            if spec.kind not in _KINDS or spec.target not in names - own or not nodes[spec.arg.name].users:
                continue
            if spec.kind is InputKind.PARAMETER:
                spec.kind, spec.persistent = InputKind.BUFFER, True
            signature.output_specs.insert(
                0, OutputSpec(OutputKind.BUFFER_MUTATION, TensorArgument(name=spec.arg.name), spec.target)
            )
            output.args = ((nodes[spec.arg.name], *output.args[0]),)
            output.meta.pop("val", None)
        program.graph_module.recompile()
