# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Read, add and delete constants and buffers of an exported program while changing its graph."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)

from executorch.exir.pass_base import fake_mode_of
from executorch.exir.rewrite.program_constants import constant_spec_of, tensor_of


def is_get_attr_node(node: Any) -> bool:
    """Return whether a node reads an attribute of its graph module."""
    return isinstance(node, fx.Node) and node.op == "get_attr"


def is_param_node(exp_prog: ExportedProgram, node: fx.Node) -> bool:
    """Return whether a node is a parameter, buffer or lifted constant of the program."""
    return is_get_attr_node(node) or constant_spec_of(exp_prog, node) is not None


def get_param_tensor(exp_prog: ExportedProgram, node: fx.Node | None) -> torch.Tensor | None:
    """Tensor of a parameter, buffer or constant; None for None. Raises RuntimeError for any other node."""
    if node is None:
        return None
    spec = constant_spec_of(exp_prog, node)
    tensor = tensor_of(exp_prog, spec) if spec is not None else None
    if tensor is not None:
        return tensor
    if is_get_attr_node(node):
        for module in (node.graph.owning_module, exp_prog.graph_module):
            attribute = getattr(module, str(node.target), None)
            if isinstance(attribute, torch.Tensor):
                return attribute
    raise RuntimeError(f"node '{node.name}' ({node.op}) is neither a parameter nor a buffer nor a constant")


def create_constant_placeholder(
    exp_program: ExportedProgram,
    graph: fx.Graph,
    name: str,
    kind: InputKind,
    data: torch.Tensor,
    persistent_buffer: bool | None = None,
) -> fx.Node:
    """Add a parameter, buffer or constant at the graph's insertion point, before the user's inputs; return its node. If
    the name exists, return the existing node.

    persistent_buffer: whether the state dict contains a buffer. Raises RuntimeError for another kind, for a buffer with
    `persistent_buffer=None`, and if the insertion point is after an input of the user.
    """
    if name in exp_program.state_dict or name in exp_program.constants:
        known: fx.Node | None = next(
            (node for node in graph.nodes if node.op == "placeholder" and node.target == name), None
        )
        if known is not None:
            return known
    if kind == InputKind.BUFFER and persistent_buffer is None:
        raise RuntimeError(f"buffer '{name}': persistent_buffer must be True or False")
    if kind not in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
        raise RuntimeError(f"'{name}': expected a parameter, buffer or constant, found {kind}")
    node: fx.Node = graph.create_node("placeholder", name, name=name)
    position = [placeholder.name for placeholder in graph.nodes if placeholder.op == "placeholder"].index(node.name)
    specs = list(exp_program.graph_signature.input_specs)
    if any(spec.kind == InputKind.USER_INPUT for spec in specs[:position]):
        graph.erase_node(node)
        raise RuntimeError(f"'{name}' must be inserted before the user's inputs; found position {position}")
    if kind == InputKind.PARAMETER:
        exp_program.state_dict[name] = torch.nn.Parameter(data, requires_grad=False)
    elif kind == InputKind.BUFFER and persistent_buffer:
        exp_program.state_dict[name] = data
    else:
        exp_program.constants[name] = data
    node.meta["val"] = _fake(exp_program, data)
    specs.insert(position, InputSpec(kind, TensorArgument(node.name), name, persistent_buffer))
    _set_signature(exp_program, specs, exp_program.graph_signature.output_specs)
    return node


def delete_constant_placeholder(exp_program: ExportedProgram, node: fx.Node) -> None:
    """Remove an unread parameter, buffer or constant with its tensor and its entry in the signature.

    Raises RuntimeError for a node that has readers, or that is none of these.
    """
    if node.users:
        raise RuntimeError(f"cannot delete '{node.name}': it is read by {', '.join(user.name for user in node.users)}")
    spec = constant_spec_of(exp_program, node)
    if spec is None:
        raise RuntimeError(f"cannot delete '{node.name}': it is neither a parameter nor a buffer nor a constant")
    for tensors in (exp_program.state_dict, exp_program.constants):
        tensors.pop(str(spec.target), None)
    signature = exp_program.graph_signature
    specs = [kept for kept in signature.input_specs if kept is not spec]
    _set_signature(exp_program, specs, signature.output_specs)
    node.graph.erase_node(node)


def create_mutable_buffer(exp_program: ExportedProgram, name: str, data: torch.Tensor) -> fx.Node:
    """Add a persistent buffer that the program returns as mutated; return its node.

    name: of the node, with or without the prefix "b_" of exported buffers; the name of the buffer omits the prefix.
    Raises ValueError for an empty name or data that are not a tensor, and RuntimeError if the buffer exists or if the
    names of the graph and its signature differ.
    """
    if not name or not name.strip():
        raise ValueError("the name of a buffer cannot be empty")
    if not isinstance(data, torch.Tensor):
        raise ValueError(f"buffer '{name}': expected data of type torch.Tensor, found {type(data).__name__}")
    target = name.removeprefix("b_")
    if target in exp_program.state_dict:
        raise RuntimeError(f"buffer '{target}' already exists in state_dict")
    _check_signature(exp_program)
    graph = exp_program.graph_module.graph
    inputs = list(exp_program.graph_signature.input_specs)
    outputs = list(exp_program.graph_signature.output_specs)
    later_kinds = (InputKind.CONSTANT_TENSOR, InputKind.USER_INPUT)
    position = next((i for i, spec in enumerate(inputs) if spec.kind in later_kinds), len(inputs))
    with graph.inserting_before(list(graph.nodes)[position]):
        node: fx.Node = graph.create_node("placeholder", name, name=name)
    node.meta["val"] = _fake(exp_program, data)
    exp_program.state_dict[target] = data
    inputs.insert(position, InputSpec(InputKind.BUFFER, TensorArgument(node.name), target, True))
    first = next((i for i, spec in enumerate(outputs) if spec.kind == OutputKind.USER_OUTPUT), 0)
    outputs.insert(first, OutputSpec(OutputKind.BUFFER_MUTATION, TensorArgument(node.name), target))
    output = graph.output_node()
    returned: Any = output.args[0]
    output.args = ([*returned[:first], node, *returned[first:]],)
    _set_signature(exp_program, inputs, outputs)
    return node


def _fake(exp_program: ExportedProgram, data: torch.Tensor) -> torch.Tensor:
    mode = fake_mode_of(exp_program.graph_module)
    return mode.from_tensor(data, static_shapes=True)


def _set_signature(exp_program: ExportedProgram, inputs: list[InputSpec], outputs: list[OutputSpec]) -> None:
    exp_program._graph_signature = ExportGraphSignature(inputs, outputs)


def _check_signature(exp_program: ExportedProgram) -> None:
    """Raise RuntimeError if names of inputs or outputs differ between signature and graph."""
    signature = exp_program.graph_signature
    placeholders = [node.name for node in exp_program.graph.nodes if node.op == "placeholder"]
    returned: Any = exp_program.graph.output_node().args[0]
    for kind, found, expected in (
        ("inputs", placeholders, [spec.arg.name for spec in signature.input_specs]),
        ("outputs", [node.name for node in returned], [spec.arg.name for spec in signature.output_specs]),
    ):
        if found != expected:
            raise RuntimeError(f"the graph's {kind} are {found}, those of its signature {expected}")
