# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Exported programs ↔ bytes, as ExecuTorch 1.4's records have them: torch's own JSON of an earlier version (5.4), in
which edge operators and debug handles are named as well.

torch writes and reads the program with the operators that edge operators stand for; the JSON is changed afterwards and
before.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from torch._export.serde import serialize as torch_serialize
from torch._export.serde.schema import SCHEMA_VERSION
from torch.export import ExportedProgram

from executorch.exir.backend.program_copy import copy_program
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.verification.verifier import WellFormed

_EDGE, _ATEN = "executorch.exir.dialects.edge.ops.", "torch.ops."
_VERSION = {"major": 5, "minor": 4}
# What later versions say beside, which readers of 5.4 refuse.
_LATER = {
    "kind",
    "is_hop_single_tensor_return",
    "sym_float_values",
    "forward_arg_names",
    "treespec_namedtuple_fields",
    "guards_code",
    "torch_version",
}


@dataclass(frozen=True)
class ProgramBytes:
    """The four parts that a record's file keeps of a program."""

    exported_program: bytes
    state_dict: bytes
    constants: bytes
    example_inputs: bytes


def program_to_bytes(program: ExportedProgram) -> ProgramBytes:
    """A program in the ATen or the edge dialect; delegates are not part of the format (torch raises SerializeError)."""
    copied = copy_program(program)
    edge, handles = set(), {}
    for node in copied.graph.nodes:
        if isinstance(node.target, EdgeOpOverload):
            node.target = node.target._op
            edge.add(node.name)
        if isinstance(node.meta.get("debug_handle"), int):
            handles[node.name] = node.meta["debug_handle"]
    if edge:
        copied._verifiers = [WellFormed]
    artifact = torch_serialize.serialize(copied)
    said = json.loads(artifact.exported_program)
    for node in said["graph_module"]["graph"]["nodes"]:
        name = node["name"]
        if name in edge:
            node["target"] = _EDGE + node["target"].removeprefix(_ATEN)
        if name in handles:
            node["metadata"]["debug_handle"] = str(handles[name])
    said["graph_module"].pop("metadata", None)
    said |= {"schema_version": _VERSION, "dialect": "", "verifiers": ["EDGE" if edge else "TRAINING"]}
    text = json.dumps(_without_later(said)).encode()
    return ProgramBytes(
        text, *(bytes(each) for each in (artifact.state_dict, artifact.constants, artifact.example_inputs))
    )


def program_from_bytes(data: ProgramBytes) -> ExportedProgram:
    """The program, its edge operators and debug handles again in the graph. Raises ValueError naming what is wrong."""
    said = json.loads(data.exported_program)
    nodes = said["graph_module"]["graph"]["nodes"]
    edge = {node["name"]: node["target"] for node in nodes if node["target"].startswith(_EDGE)}
    handles = {node["name"]: int(each) for node in nodes if (each := node["metadata"].pop("debug_handle", None))}
    for node in nodes:
        node["target"] = node["target"].replace(_EDGE, _ATEN)
        node["metadata"].pop("from_node", None)
    major, minor = SCHEMA_VERSION
    # What torch.export gives may have operators that write in place, which other verifiers refuse.
    said |= {"schema_version": {"major": major, "minor": minor}, "verifiers": ["TRAINING"], "guards_code": []}
    artifact = torch_serialize.SerializedArtifact(
        json.dumps(said).encode(), data.state_dict, data.constants, data.example_inputs
    )
    program = torch_serialize.deserialize(artifact)
    for node in program.graph.nodes:
        if node.name in edge:
            node.target = _edge_operator(edge[node.name])
        if node.name in handles:
            node.meta["debug_handle"] = handles[node.name]
    program.graph_module.recompile()
    if edge:
        program._verifiers = [WellFormed]
    return program


def _edge_operator(target: str) -> Any:
    found: Any = exir_ops.edge
    for part in target.removeprefix(_EDGE).split("."):
        found = getattr(found, part)
    return found


def _without_later(said: Any) -> Any:
    if isinstance(said, list):
        return [_without_later(each) for each in said]
    if not isinstance(said, dict):
        return said
    kept = {key: _without_later(value) for key, value in said.items() if key not in _LATER}
    if set(kept) == {"type", "index"} and kept["index"] is None:
        del kept["index"]  # of a device
    return kept
