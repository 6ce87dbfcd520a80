# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Read the constants of a program, add constants as lifted inputs, and drop unused ones."""

from __future__ import annotations

from itertools import islice

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec, TensorArgument

from executorch.exir.rewrite.node_rewrite import origin_of

_CONSTANT_KINDS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


def constant_tensors(program: ExportedProgram) -> dict[str, torch.Tensor]:
    """Return placeholder name → tensor for parameters, constants and buffers that the program never writes."""
    written = set(program.graph_signature.buffers_to_mutate.values())
    tensors: dict[str, torch.Tensor] = {}
    for spec in program.graph_signature.input_specs:
        if spec.kind not in _CONSTANT_KINDS or spec.target is None or spec.target in written:
            continue
        value = program.state_dict.get(spec.target, program.constants.get(spec.target))
        if isinstance(value, torch.Tensor):
            tensors[spec.arg.name] = value
    return tensors


def _end_of_constants(program: ExportedProgram) -> tuple[int, fx.Node]:
    """Return the signature position and the node (or the first call) of the first input that is not a constant."""
    specs = program.graph_signature.input_specs
    position = next((i for i, spec in enumerate(specs) if spec.kind not in _CONSTANT_KINDS), len(specs))
    node: fx.Node = next(islice(program.graph.nodes, position, None))
    return position, node


def add_constant(
    program: ExportedProgram, stem: str, tensor: torch.Tensor, value: torch.Tensor, origin: fx.Node | None = None
) -> fx.Node:
    """Add `tensor` to the program's constants, and a placeholder for it before the user's inputs. Return its node.

    stem: prefix of its name. value: its fake tensor in the graph.
    """
    taken = {spec.target for spec in program.graph_signature.input_specs} | set(program.constants)
    index = 0
    while f"{stem}{index}" in taken:
        index += 1
    name = f"{stem}{index}"
    position, where = _end_of_constants(program)
    with program.graph.inserting_before(where):
        node = program.graph.placeholder(name)
    node.meta = origin_of(origin) if origin is not None else {}
    node.meta["val"] = value
    spec = InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(name=node.name), target=name, persistent=None)
    program.graph_signature.input_specs.insert(position, spec)
    program.constants[name] = tensor
    constant: fx.Node = node
    return constant


def _placeholders(program: ExportedProgram) -> list[fx.Node]:
    return [node for node in program.graph.nodes if node.op == "placeholder"]


def drop_unused_constants(program: ExportedProgram) -> None:
    """Remove parameters, buffers and constants that no node reads and the program does not write."""
    signature = program.graph_signature
    written = set(signature.buffers_to_mutate.values()) | set(signature.parameters_to_mutate.values())
    unused = {node.name: node for node in _placeholders(program) if not node.users}
    kept = []
    for spec in signature.input_specs:
        node = unused.get(getattr(spec.arg, "name", ""))
        if node is None or spec.kind not in _CONSTANT_KINDS or spec.target in written:
            kept.append(spec)
            continue
        program.graph.erase_node(node)
    signature.input_specs[:] = kept
    used = {spec.target for spec in kept}
    for store in (program._state_dict, program._constants):
        for name in [name for name in store if name not in used]:
            del store[name]


def lift_tensor_attributes(program: ExportedProgram) -> None:
    """Convert tensors that the graph reads as attributes (users' passes add such) into lifted constants."""
    module = program.graph_module
    for node in [node for node in module.graph.nodes if node.op == "get_attr"]:
        value = module
        for part in str(node.target).split("."):
            value = getattr(value, part)
        if not isinstance(value, torch.Tensor):
            continue
        lifted = add_constant(program, "_lifted_tensor_constant", value.detach(), node.meta["val"], node)
        node.replace_all_uses_with(lifted)
        module.graph.erase_node(node)
