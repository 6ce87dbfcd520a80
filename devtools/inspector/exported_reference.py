# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The program of `torch.export` as the reference: its nodes get the debug handles of the edge nodes they became."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx.traceback import NodeSource

from executorch.devtools.etrecord.record import ETRecord
from executorch.devtools.inspector.numeric_gap import Pair
from executorch.exir.graph_module import debug_handles_of

EXPORTED = "exported_program"


def exported_reference(record: ETRecord, edge: ExportedProgram, must_match: bool) -> ExportedProgram:
    """Return the record's exported program after setting the debug handles of its nodes.

    must_match: require a node for each debug handle of the edge program. Handles that several edge nodes share belong
    to one operator that was decomposed, so the last of them computes the value of the exported node.
    Raises ValueError for a record without the program, or with one that does not match.
    """
    program = record.exported_program
    if program is None:
        raise ValueError(f"Cannot use '{EXPORTED}': the record lacks it; export with generate_etrecord=True")
    nodes = {node.name: node for node in program.graph.nodes if node.op == "call_function"}
    for node in nodes.values():
        node.meta.pop("debug_handle", None)
    unmatched = set()
    for edge_node in edge.graph.nodes:
        for handle in debug_handles_of(edge_node):
            names = _origins(edge_node.meta.get("from_node", ()), record.export_graph_id)
            origins = [nodes[name] for name in names if name in nodes]
            if not origins:
                unmatched.add(handle)
            for origin in origins:
                origin.meta["debug_handle"] = handle
    unmatched -= {handle for node in nodes.values() for handle in debug_handles_of(node)}
    if unmatched and must_match:
        raise ValueError(
            f"Cannot use '{EXPORTED}': debug handles {sorted(unmatched)} of the edge program belong to no node of it; "
            "pass disable_debug_handle_valdiation=True to compare the others"
        )
    return program


def comparable(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs with equally many elements, each with the runtime's tensor reshaped to the sizes of the node's
    value."""
    alike = (replace(pair, found=_like(pair.expected, pair.found)) for pair in pairs)
    return [pair for pair in alike if pair.found is not None]


def _origins(sources: Sequence[NodeSource], graph: int | None) -> Iterator[str]:
    for source in sources:
        if source.graph_id == graph:
            yield source.name
        yield from _origins(source.from_node, graph)


def _like(expected: Any, found: Any) -> Any:
    """Return the runtime's value with the sizes of the exported node's value; None if they are different results."""
    if isinstance(expected, torch.Tensor) and isinstance(found, (list, tuple)) and found:
        found = found[0]  # native_layer_norm and others return more than the operator that they come from
    if isinstance(expected, (list, tuple)) and isinstance(found, (list, tuple)):
        return found if len(expected) == len(found) else None
    if not isinstance(expected, torch.Tensor) or not isinstance(found, torch.Tensor):
        return found if type(expected) is type(found) else None
    return found.reshape(expected.shape) if expected.numel() == found.numel() else None
