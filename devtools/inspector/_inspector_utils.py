# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: names that viewers of records and scripts of profiling import from this module."""

from __future__ import annotations

from collections.abc import Mapping

from torch.export import ExportedProgram

from executorch.devtools.debug_format.base_schema import OperatorGraph, OperatorNode
from executorch.devtools.debug_format.operator_graph import operator_graph, operator_nodes
from executorch.devtools.etrecord.record import ETRecord
from executorch.devtools.inspector.compare_results import compare_results
from executorch.devtools.inspector.numerical_comparator import DebugHandle
from executorch.devtools.inspector.time_scale import TimeScale
from executorch.exir.debug_handle_utils import DEBUG_HANDLE_KEY

EDGE_DIALECT_GRAPH_KEY = "edge_dialect_graph_module"
RESERVED_FRAMEWORK_EVENT_NAMES = ["Method::init", "Program::load_method", "Method::execute"]

__all__ = [
    "EDGE_DIALECT_GRAPH_KEY",
    "RESERVED_FRAMEWORK_EVENT_NAMES",
    "DebugHandle",
    "TimeScale",
    "compare_results",
    "create_debug_handle_to_op_node_mapping",
    "gen_graphs_from_etrecord",
]


def gen_graphs_from_etrecord(etrecord: ETRecord, enable_module_hierarchy: bool = False) -> Mapping[str, OperatorGraph]:
    """Convert the programs of a record: those of its `graph_map`, and the edge program by `EDGE_DIALECT_GRAPH_KEY`.

    The edge program is `forward` if there are several methods. Raises ValueError for `enable_module_hierarchy`.
    """
    if enable_module_hierarchy:
        raise ValueError("enable_module_hierarchy: expected False; nn_module_stack in the metadata has the modules")
    graphs = {name: operator_graph(program) for name, program in (etrecord.graph_map or {}).items()}
    edge = etrecord.edge_dialect_program
    program = edge.get("forward") if isinstance(edge, dict) else edge
    if isinstance(program, ExportedProgram):
        graphs[EDGE_DIALECT_GRAPH_KEY] = operator_graph(program)
    return graphs


def create_debug_handle_to_op_node_mapping(op_graph: OperatorGraph) -> dict[int, list[OperatorNode]]:
    """Return the calls of a graph by debug handle."""
    nodes: dict[int, list[OperatorNode]] = {}
    for node in operator_nodes(op_graph):
        handle = (node.metadata or {}).get(DEBUG_HANDLE_KEY)
        if isinstance(handle, int):
            nodes.setdefault(handle, []).append(node)
    return nodes
