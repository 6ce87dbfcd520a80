# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace the taps of a lowered program with the operators of their reducers."""

from __future__ import annotations

from typing import Any

from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputSpec, TensorArgument

from executorch.devtools.intermediate_output_tap._reducers import get_reducer
from executorch.devtools.intermediate_output_tap._tap_pass import find_tap_nodes
from executorch.exir import EdgeProgramManager
from executorch.exir.rewrite.node_rewrite import replace_by


def strip_taps_(edge_manager: EdgeProgramManager) -> None:
    """Replace the taps of all methods in place. Call it between `to_edge_transform_and_lower` and `to_executorch`, so
    that the added operators are not delegated.
    """
    for name in edge_manager.methods:
        _strip(edge_manager.exported_program(name))


def _strip(program: ExportedProgram) -> None:
    taps = find_tap_nodes(program.graph_module)
    for tap in taps:
        source: Any = tap.args[0]
        with program.graph.inserting_before(tap):
            replacement = get_reducer(str(tap.args[1])).emit(program.graph, source)
        replace_by(tap, replacement)
    if not taps:
        return
    program.graph_module.recompile()
    returned: Any = program.graph.output_node().args[0]
    specs = program.graph_signature.output_specs
    for index, (spec, node) in enumerate(zip(list(specs), returned, strict=True)):
        if isinstance(node, fx.Node) and isinstance(spec.arg, TensorArgument) and spec.arg.name != node.name:
            specs[index] = OutputSpec(spec.kind, TensorArgument(name=node.name), spec.target)
