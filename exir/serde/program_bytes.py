# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Serialize exported programs in the format of ExecuTorch 1.4's records: torch's JSON of version 5.4 with edge
operators and debug handles.

torch writes and reads the program with the ATen operators that edge operators wrap. This module changes the JSON after
writing and before reading.
"""

from __future__ import annotations

import io
import json
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pickle import UnpicklingError
from typing import Any
from zipfile import ZipFile

import torch
from torch import fx
from torch._ops import OpOverload
from torch.export import ExportedProgram

from executorch.exir import memory
from executorch.exir.delegate import executorch_call_delegate
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.rewrite.program_copy import copy_program
from executorch.exir.serde.expressions import check_expression
from executorch.exir.serde.lowered_modules import (
    name_lowered_modules,
    read_lowered_modules,
    restore_lowered_modules,
    write_lowered_module,
)
from executorch.exir.serialize.pickled_tensors import check_saved_tensors
from executorch.exir.verification.verifier import WellFormed

_EDGE, _ATEN = "executorch.exir.dialects.edge.ops.", "torch.ops."
VERSION = {"major": 5, "minor": 4}
Json = dict[str, Any]
"""A JSON object whose form torch defines: a graph or a node of torch._export.serde.schema."""

_MAX_SOURCES = 200  # torch reads them recursively
_SCALAR = torch.ops.aten.scalar_tensor.default
# Keys of later versions, which readers of 5.4 refuse.
_LATER_KEYS = {
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
    """The four parts of a serialized program."""

    exported_program: bytes
    state_dict: bytes
    constants: bytes
    example_inputs: bytes


def program_to_bytes(program: ExportedProgram) -> ProgramBytes:
    """Serialize a program of the ATen or Edge dialect, with the nodes that its nodes come from (`from_node`).

    Raises SerializeError for a planned program.
    """
    from torch._export.serde import serialize as torch_serialize  # here: it imports torch's compiler, 1.5 s

    _check_dialect(program)
    copied = copy_program(program)
    is_edge = _is_edge(copied)
    marks, delegates = {}, {}
    for module in all_graph_modules(copied.graph_module):
        _replace_scalar_constants(module, exir_ops.edge.aten.scalar_tensor.default if is_edge else _SCALAR)
        delegates[id(module)] = name_lowered_modules(module)
        marks[id(module)] = _Mark.take_from(module)
    if is_edge:
        copied._verifiers = [WellFormed]
    artifact = torch_serialize.serialize(copied)
    data_json = json.loads(artifact.exported_program)
    for module, graph in _graphs(copied.graph_module, data_json["graph_module"]["graph"]):
        mark, lowered = marks[id(module)], delegates[id(module)]
        for node in graph["nodes"]:
            if node["name"] in lowered:
                write_lowered_module(node, lowered[node["name"]], program_to_bytes)
            if node["name"] in mark.edge:
                node["target"] = _EDGE + node["target"].removeprefix(_ATEN)
            if node["name"] in mark.handles:
                node["metadata"]["debug_handle"] = str(mark.handles[node["name"]])
    data_json["graph_module"].pop("metadata", None)
    data_json |= {"schema_version": VERSION, "dialect": "", "verifiers": ["EDGE" if is_edge else "TRAINING"]}
    text = json.dumps(_without_later(data_json)).encode()
    return ProgramBytes(
        text, *(bytes(part) for part in (artifact.state_dict, artifact.constants, artifact.example_inputs))
    )


def _check_dialect(program: ExportedProgram) -> None:
    from torch._export.serde.serialize import SerializeError

    for module in all_graph_modules(program.graph_module):
        for node in module.graph.nodes:
            if node.target is memory.alloc:
                raise SerializeError(
                    f"'{node}' allocates memory: save the program before to_executorch, or the file with write_to_file"
                )


def _is_edge(program: ExportedProgram) -> bool:
    """Return whether the program has operators of the Edge dialect or delegates."""
    return any(
        isinstance(node.target, EdgeOpOverload) or node.target is executorch_call_delegate
        for module in all_graph_modules(program.graph_module)
        for node in module.graph.nodes
    )


def program_from_bytes(data: ProgramBytes) -> ExportedProgram:
    """Deserialize a program, with edge operators and debug handles.

    Raises ValueError, or one of torch's errors, for invalid bytes. No code of the file is run.
    """
    from torch._export.serde import serialize as torch_serialize
    from torch._export.serde.schema import SCHEMA_VERSION

    data_json = json.loads(data.exported_program)
    _check_expressions(data_json)
    graphs = list(_all_graphs(data_json["graph_module"]["graph"]))
    delegates = [read_lowered_modules(graph, _program_of_delegate) for graph in graphs]
    marks = [_Mark.from_json(graph["nodes"]) for graph in graphs]
    for graph in graphs:
        for node in graph["nodes"]:
            node["target"] = node["target"].replace(_EDGE, _ATEN)
            node["metadata"].pop("debug_handle", None)
            _check_sources(node["metadata"])
    major, minor = SCHEMA_VERSION
    # Exported programs may contain in-place operators, which other verifiers refuse.
    data_json |= {"schema_version": {"major": major, "minor": minor}, "verifiers": ["TRAINING"], "guards_code": []}
    parts = (tensors_of(part) for part in (data.state_dict, data.constants, data.example_inputs))
    program = torch_serialize.deserialize(torch_serialize.SerializedArtifact(json.dumps(data_json).encode(), *parts))
    modules = [module for module, _ in _graphs(program.graph_module, graphs[0])]
    for module, mark, lowered in zip(modules, marks, delegates, strict=True):
        restore_lowered_modules(module, lowered)
        mark.restore(module)
    if any(delegates) or any(mark.edge for mark in marks):
        program._verifiers = [WellFormed]
    return program


def _program_of_delegate(program: Json, state_dict: bytes, constants: bytes) -> ExportedProgram:
    return program_from_bytes(ProgramBytes(json.dumps(program).encode(), state_dict, constants, b""))


def _check_sources(metadata: Mapping[str, str]) -> None:
    """Raise ValueError unless `from_node` has torch's form: nested lists of the nodes that a node comes from."""
    if "from_node" not in metadata:
        return
    try:
        level = json.loads(metadata["from_node"]) or []
    except (TypeError, RecursionError) as error:
        raise ValueError("from_node: expected the JSON of a list") from error
    for _ in range(_MAX_SOURCES):
        if not isinstance(level, list) or not all(isinstance(entry, dict) for entry in level):
            raise ValueError("from_node: expected a list of objects")
        if not all(isinstance(entry.get(key, ""), str) for entry in level for key in ("pass_name", "action")):
            raise ValueError("from_node: expected strings as pass_name and action")
        inner = [entry.get("from_node") or [] for entry in level]
        if not all(isinstance(sources, list) for sources in inner):
            raise ValueError("from_node: expected a list of objects")
        level = [source for sources in inner for source in sources]
        if not level:
            return
    raise ValueError(f"from_node: a node comes from at most {_MAX_SOURCES} others, one after the other")


@dataclass(frozen=True)
class _Mark:
    """Data of a graph's nodes that torch does not serialize: edge operators (node name → target) and debug handles."""

    edge: Mapping[str, str]
    handles: Mapping[str, int]

    @staticmethod
    def take_from(module: fx.GraphModule) -> _Mark:
        """Collect the data of a module's nodes, and replace each edge operator by the ATen operator it wraps."""
        edge, handles = {}, {}
        for node in module.graph.nodes:
            if isinstance(node.target, EdgeOpOverload):
                edge[node.name] = str(node.target)
                node.target = node.target._op
            if isinstance(node.meta.get("debug_handle"), int):
                handles[node.name] = node.meta["debug_handle"]
        return _Mark(edge, handles)

    @staticmethod
    def from_json(nodes: Sequence[Json]) -> _Mark:
        """Read the data of a graph's nodes from the JSON."""
        edge = {node["name"]: node["target"] for node in nodes if node["target"].startswith(_EDGE)}
        return _Mark(
            edge, {node["name"]: int(handle) for node in nodes if (handle := node["metadata"].get("debug_handle"))}
        )

    def restore(self, module: fx.GraphModule) -> None:
        for node in module.graph.nodes:
            if node.name in self.edge:
                node.target = _edge_operator(self.edge[node.name])
            if node.name in self.handles:
                node.meta["debug_handle"] = self.handles[node.name]
            elif node.target is operator.getitem and node.args[0].name in self.handles:
                node.meta["debug_handle"] = self.handles[node.args[0].name]  # torch writes no getitem
        module.recompile()


def _replace_scalar_constants(module: fx.GraphModule, scalar_tensor: OpOverload | EdgeOpOverload) -> None:
    """Replace scalar constants in branches, which torch does not serialize, by `scalar_tensor` calls."""
    for node in list(module.graph.nodes):
        constant = getattr(module, str(node.target), None) if node.op == "get_attr" else None
        if isinstance(constant, torch.Tensor) and constant.dim() == 0:
            with module.graph.inserting_before(node):
                scalar_call = module.graph.call_function(scalar_tensor, (constant.item(),), {"dtype": constant.dtype})
            scalar_call.meta = dict(node.meta)
            node.replace_all_uses_with(scalar_call)
            module.graph.erase_node(node)


def _graphs(module: fx.GraphModule, graph: Json) -> Iterator[tuple[fx.GraphModule, Json]]:
    """Yield the graphs of a module and its control flow, each with its JSON."""
    yield module, graph
    for subgraph in _subgraphs(graph):
        yield from _graphs(getattr(module, subgraph["name"]), subgraph["graph"])


def _all_graphs(graph: Json) -> Iterator[Json]:
    yield graph
    for subgraph in _subgraphs(graph):
        yield from _all_graphs(subgraph["graph"])


def _subgraphs(graph: Json) -> list[Json]:
    arguments = [argument["arg"] for node in graph["nodes"] for argument in node["inputs"]]
    return [argument["as_graph"] for argument in arguments if "as_graph" in argument]


def check_unpacked_size(archive: ZipFile, packed: int) -> None:
    """Refuse an archive whose entries would take far more memory than the file that holds them.

    Args:
        archive: The archive. Only its directory is read.
        packed: Bytes of the file. Records are written uncompressed, so their entries take no more than that; the
            limit leaves room for records that were packed again.

    Raises:
        ValueError: The entries declare more than 64 MiB and 32 times the file's size.
    """
    unpacked = sum(entry.file_size for entry in archive.infolist())
    limit = max(64 << 20, 32 * packed)
    if unpacked > limit:
        raise ValueError(f"its entries unpack to {unpacked} bytes, expected at most {limit} from {packed} bytes")


def tensors_of(data: bytes) -> Any:
    """Load the tensors and containers that torch.save wrote.

    Raises ValueError for any other object: unpickling could run arbitrary code. Raises RuntimeError for sparse tensors
    whose indices are not inside their sizes.
    """
    if not data:
        return {}
    check_saved_tensors(io.BytesIO(data))
    try:
        # torch's operators trust the indices of a sparse tensor.
        with torch.sparse.check_sparse_tensor_invariants(True):
            return torch.load(io.BytesIO(data), weights_only=True)
    except UnpicklingError as error:
        raise ValueError("expected tensors and containers of them, as torch.save writes them") from error


def _check_expressions(data_json: object) -> None:
    """Raise ValueError for a size that is not an expression of symbols."""
    if isinstance(data_json, list):
        for item in data_json:
            _check_expressions(item)
    elif isinstance(data_json, dict):
        check_expression(data_json.get("expr_str", ""))
        for item in data_json.values():
            _check_expressions(item)


def _edge_operator(target: str) -> EdgeOpOverload:
    entry: object = exir_ops.edge
    for part in target.removeprefix(_EDGE).split("."):
        entry = getattr(entry, part)
    assert isinstance(entry, EdgeOpOverload)
    return entry


def _without_later(data_json: object) -> object:
    if isinstance(data_json, list):
        return [_without_later(item) for item in data_json]
    if not isinstance(data_json, dict):
        return data_json
    kept = {key: _without_later(value) for key, value in data_json.items() if key not in _LATER_KEYS}
    if set(kept) == {"type", "index"} and kept["index"] is None:
        del kept["index"]  # of a device
    return kept
