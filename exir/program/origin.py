# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The exported programs behind edge programs, from which `EdgeProgramManager.to_backend` can lower again.

`to_edge` decomposes operators before a partitioner can name those to preserve. `to_backend` therefore lowers the
exported programs again, as `to_edge_transform_and_lower` does, if exported and edge programs are unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from torch.export import ExportedProgram

from executorch.exir.backend.partitioner import Partitioner
from executorch.exir.graph_module import all_graph_modules

_Fingerprint = tuple[object, ...]


@dataclass(frozen=True)
class Origin:
    """The exported programs behind edge programs.

    exported: programs by method. fingerprints: of the exported and edge programs when the latter were made.
    """

    exported: Mapping[str, ExportedProgram]
    fingerprints: tuple[_Fingerprint, ...]

    @classmethod
    def of(cls, exported: Mapping[str, ExportedProgram], edge: Mapping[str, ExportedProgram]) -> Origin:
        """Record the exported programs and the present state of the edge programs, by method."""
        return cls(dict(exported), _fingerprints(exported, edge))

    def is_current(self, edge: Mapping[str, ExportedProgram]) -> bool:
        """Return whether the exported and edge programs are unchanged: graphs, weights and the keys of metadata."""
        return self.fingerprints == _fingerprints(self.exported, edge)

    def is_useful_to(self, partitioners: Mapping[str, Partitioner]) -> bool:
        """Return whether a partitioner names operators to preserve."""
        return any(wanted.ops_to_not_decompose(self.exported[name])[0] for name, wanted in partitioners.items())


def _fingerprints(*programs: Mapping[str, ExportedProgram]) -> tuple[_Fingerprint, ...]:
    return tuple(_fingerprint(program) for group in programs for program in group.values())


def _fingerprint(program: ExportedProgram) -> _Fingerprint:
    nodes: Iterable[object] = (
        (node.op, node.name, str(node.target), str(node.args), str(node.kwargs), *sorted(map(str, node.meta)))
        for module in all_graph_modules(program.graph_module)
        for node in module.graph.nodes
    )
    tensors = ((name, id(value)) for table in (program.state_dict, program.constants) for name, value in table.items())
    return hash(tuple(nodes)), hash(tuple(tensors)), str(program.graph_signature)
