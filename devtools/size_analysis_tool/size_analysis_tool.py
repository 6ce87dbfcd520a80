# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: sizes of a model's weights and delegates as JSON, as documented; nothing inside the project imports it.

`python -m executorch.devtools.size_analysis_tool.size_analysis_tool --etrecord_path RECORD`
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram

from executorch.devtools.etrecord import parse_etrecord
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.lowered_backend_module import LoweredBackendModule
from executorch.util.exit_code import exit_code

Deserializers = Mapping[str, Callable[[bytes], dict[str, Any]]]


def generate_model_size_information(
    model: ExportedProgram, delegate_deserializers: Deserializers | None = None, flatbuffer: bytes | None = None
) -> dict[str, Any]:
    """Return the bytes of every weight and delegate, largest first, and their sums.

    Args:
        model: A program of any dialect. Weights that only delegates use are part of the delegates.
        delegate_deserializers: By backend: a function from a delegate's payload to entries for its row.
        flatbuffer: The serialized program. Its size and the remaining bytes are added to the sums.
    """
    tensors = sorted(_weights(model), key=lambda row: -int(row["num_bytes"]))
    delegates = sorted(_delegates(model, delegate_deserializers or {}), key=lambda row: -int(row["num_bytes"]))
    weight_bytes, delegate_bytes = (sum(row["num_bytes"] for row in rows) for rows in (tensors, delegates))
    overview = {"total_tensor_data_size": weight_bytes, "total_delegate_blob_data_size": delegate_bytes}
    if flatbuffer is not None:
        overview["serialization_metadata_size"] = len(flatbuffer) - weight_bytes - delegate_bytes
        overview["model_size"] = len(flatbuffer)
    return {"tensor_data": tensors, "delegate_blob_data": delegates, "overview": overview}


def _weights(model: ExportedProgram) -> Iterator[dict[str, Any]]:
    signature = model.graph_signature
    targets = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    targets |= signature.inputs_to_lifted_tensor_constants
    for module in all_graph_modules(model.graph_module):
        for node in module.graph.nodes:
            value: Any = None
            if node.op == "placeholder" and module is model.graph_module and node.name in targets:
                target = targets[node.name]
                value = model.state_dict.get(target, model.constants.get(target))
            elif node.op == "get_attr":
                value = getattr(module, str(node.target), None)
            if isinstance(value, torch.Tensor):
                yield _tensor_row(node, value)


def _tensor_row(node: torch.fx.Node, tensor: torch.Tensor) -> dict[str, Any]:
    stack = node.meta.get("nn_module_stack")
    return {
        "name": node.name,
        "numel": tensor.numel(),
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "element_size": tensor.element_size(),
        "shape": list(tensor.shape),
        "num_bytes": tensor.nbytes,
        "nn_module_stack": None if stack is None else str(stack),
    }


def _delegates(model: ExportedProgram, deserializers: Deserializers) -> Iterator[dict[str, Any]]:
    for module in all_graph_modules(model.graph_module):
        for node in module.graph.nodes:
            lowered = getattr(module, str(node.target), None) if node.op == "get_attr" else None
            if isinstance(lowered, LoweredBackendModule):
                payload = lowered.processed_bytes
                row = {"name": node.name, "backend_id": lowered.backend_id, "num_bytes": len(payload)}
                described = deserializers.get(lowered.backend_id)
                yield row | (described(payload) if described else {})


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the sizes of every program that a record names, or of its edge programs if it names none.

    Returns the exit code: 1 if a file cannot be read or written.
    """
    parser = argparse.ArgumentParser(description="sizes of the weights and delegates of recorded programs, as JSON")
    parser.add_argument("--etrecord_path", required=True, help="the record")
    parser.add_argument("--output_path", type=Path, default=Path("model_size_information.json"), help="the JSON file")
    options = parser.parse_args(arguments)
    return exit_code("size_analysis_tool", lambda: _write(options), (OSError, RuntimeError, ValueError))


def _write(options: argparse.Namespace) -> None:
    record = parse_etrecord(options.etrecord_path)
    edge = record.edge_dialect_program
    programs = [*(record.graph_map or {}).values()] or [*(edge.values() if isinstance(edge, dict) else [edge])]
    sizes = [generate_model_size_information(program) for program in programs if program is not None]
    options.output_path.write_text(json.dumps(sizes))


if __name__ == "__main__":
    sys.exit(main())
