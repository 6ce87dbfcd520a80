# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Delegates in the JSON of serialized programs, in the form of ExecuTorch 1.4.

torch cannot serialize a call of a delegate. It serializes the call with a name in place of the LoweredBackendModule;
the JSON of the module then replaces that name.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from torch import fx
from torch.export import ExportedProgram

from executorch.exir.delegate import executorch_call_delegate
from executorch.exir.format.named_data import DataEntry, NamedDataStoreOutput
from executorch.exir.lowered_backend_module import LoweredBackendModule, get_lowered_submodules
from executorch.exir.scalar_type import ScalarType
from executorch.exir.schema import CompileSpec
from executorch.exir.tensor_layout import TensorLayout

if TYPE_CHECKING:
    from executorch.exir.serde.program_bytes import Json, ProgramBytes

_TARGET = "torch.ops.higher_order.executorch_call_delegate"


def name_lowered_modules(module: fx.GraphModule) -> dict[str, LoweredBackendModule]:
    """Replace the delegate of each call by its name, and return the delegates by the name of their call."""
    delegates = {}
    for name, lowered, call in get_lowered_submodules(module):
        attribute = call.args[0]
        assert isinstance(attribute, fx.Node), "get_lowered_submodules checked the call"
        call.args = (name, *call.args[1:])
        delegates[call.name] = lowered
        if not attribute.users:
            module.graph.erase_node(attribute)
    return delegates


def write_lowered_module(node: Json, lowered: LoweredBackendModule, serialize: Callable[..., ProgramBytes]) -> None:
    """Put the delegate into the JSON of its call. The format omits its map of debug handles.

    Args:
        node: The call, as torch writes it after `name_lowered_modules`.
        serialize: Turns the program of the delegate into bytes.
    """
    program = serialize(lowered.original_module)
    named_data = lowered.named_data_store_output
    fields = {
        "backend_id": lowered.backend_id,
        "processed_bytes": _text(lowered.processed_bytes),
        "compile_specs": [{"key": spec.key, "value": _text(spec.value)} for spec in lowered.compile_specs],
        "original_module": json.loads(program.exported_program),
        "original_state_dict": _text(program.state_dict),
        "original_constants": _text(program.constants),
        "named_data_store": None if named_data is None else _named_data_text(named_data),
    }
    first, *others = node["inputs"]
    first |= {"name": first["arg"]["as_string"], "arg": {"as_string": json.dumps(fields)}}
    for index, argument in enumerate(others):
        argument["name"] = f"delegate_arg_{index}"
    if len(node["outputs"]) == 1 and not node["is_hop_single_tensor_return"]:  # a tuple of one tensor
        node["outputs"] = [{"as_tensors": [node["outputs"][0]["as_tensor"]]}]


def read_lowered_modules(
    graph: Json, deserialize: Callable[[Json, bytes, bytes], ExportedProgram]
) -> dict[str, LoweredBackendModule]:
    """Take the delegates out of the JSON of a graph, so that torch can read it; return them by name.

    Args:
        graph: The graph. Its calls of delegates refer to them by name afterwards.
        deserialize: Makes a program from its JSON, its state and its constants.

    Raises:
        ValueError: A delegate lacks a field, or a field has another form.
    """
    delegates = {}
    for node in graph["nodes"]:
        if node["target"] != _TARGET:
            continue
        try:
            first = node["inputs"][0]
            name, fields = _string(first["name"]), json.loads(first["arg"]["as_string"])
            if not name.isidentifier() or hasattr(fx.GraphModule, name):
                raise ValueError(
                    f"delegate {node.get('name', '')!r}: expected the name of a new attribute, found {name!r}"
                )
            delegates[name] = _lowered_module(fields, deserialize)
            first["arg"] = {"as_string": name}
            for argument in node["inputs"]:
                argument["name"] = ""  # torch takes an argument with a name as a keyword
            tensors = node["outputs"][0].get("as_tensors") if len(node["outputs"]) == 1 else None
            node["is_hop_single_tensor_return"] = tensors is None
            if tensors is not None:
                node["outputs"] = [{"as_tensor": tensor} for tensor in tensors]
        except (KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
            raise ValueError(f"delegate {node.get('name', '')!r}: expected the fields of a LoweredBackendModule, "
                             f"found {type(error).__name__}: {error}") from error  # fmt: skip
    return delegates


def restore_lowered_modules(module: fx.GraphModule, delegates: Mapping[str, LoweredBackendModule]) -> None:
    """Give the calls of delegates in a graph that torch has read their modules.

    Raises:
        ValueError: The file has no module for a call, or gives it the name of another attribute.
    """
    for call in module.graph.find_nodes(op="call_function", target=executorch_call_delegate):
        name = call.args[0]
        if not isinstance(name, str) or name not in delegates:
            raise ValueError(f"delegate {call.name!r}: expected a LoweredBackendModule, found {name!r}")
        if hasattr(module, name) and getattr(module, name) is not delegates[name]:
            raise ValueError(f"delegate {call.name!r}: expected the name of a new attribute, found {name!r}")
        module.add_module(name, delegates[name])
        with module.graph.inserting_before(call):
            call.args = (module.graph.get_attr(name), *call.args[1:])


def _lowered_module(fields: Json, deserialize: Callable[[Json, bytes, bytes], ExportedProgram]) -> LoweredBackendModule:
    named_data = fields.get("named_data_store")
    return LoweredBackendModule(
        deserialize(
            fields["original_module"], _bytes(fields["original_state_dict"]), _bytes(fields["original_constants"])
        ),
        _string(fields["backend_id"]),
        _bytes(fields["processed_bytes"]),
        [CompileSpec(_string(spec["key"]), _bytes(spec["value"])) for spec in fields["compile_specs"]],
        None if named_data is None else _named_data(json.loads(named_data)),
    )


def _named_data_text(data: NamedDataStoreOutput) -> str:
    return json.dumps(
        {
            "buffers": [_text(buffer) for buffer in data.buffers],
            "pte_data": {key: asdict(entry) for key, entry in data.pte_data.items()},
            "external_data": {
                tag: {key: asdict(entry) for key, entry in entries.items()}
                for tag, entries in data.external_data.items()
            },
        }
    )


def _named_data(fields: Json) -> NamedDataStoreOutput:
    buffers = [_bytes(buffer) for buffer in fields["buffers"]]
    return NamedDataStoreOutput(
        buffers,
        {key: _data_entry(key, entry, len(buffers)) for key, entry in fields["pte_data"].items()},
        {
            tag: {key: _data_entry(key, entry, len(buffers)) for key, entry in entries.items()}
            for tag, entries in fields["external_data"].items()
        },
    )


def _data_entry(key: str, entry: Json, buffers: int) -> DataEntry:
    index, alignment, layout = entry["buffer_index"], entry["alignment"], entry.get("tensor_layout")
    if not isinstance(index, int) or not 0 <= index < buffers:
        raise ValueError(f"named data {key!r}: expected the index of one of {buffers} buffers, found {index}")
    if not isinstance(alignment, int) or alignment < 1:
        raise ValueError(f"named data {key!r}: alignment must be at least 1, found {alignment}")
    if layout is None:
        return DataEntry(index, alignment, None)
    return DataEntry(
        index, alignment, TensorLayout(ScalarType(layout["scalar_type"]), layout["sizes"], layout["dim_order"])
    )


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a string, found {value!r}")
    return value


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
