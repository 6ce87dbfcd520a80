# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Read the constants of a program, add constants as lifted inputs, and drop unused ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, islice
from weakref import WeakKeyDictionary

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec, TensorArgument

from executorch.exir.rewrite.node_rewrite import origin_of

_CONSTANT_KINDS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


_PLACES: WeakKeyDictionary[ExportedProgram, dict[str, int]] = WeakKeyDictionary()
"""Input → its place in the signature. The signature builds its own dictionaries again for each query."""


def _name_of(spec: InputSpec) -> str:
    return str(getattr(spec.arg, "name", ""))


def constant_spec_of(program: ExportedProgram, node: fx.Node) -> InputSpec | None:
    """Return the signature's entry of a parameter, buffer or lifted constant; None for any other node."""
    if node.op != "placeholder":
        return None
    specs = program.graph_signature.input_specs
    place = _PLACES.get(program, {}).get(node.name, len(specs))
    if place >= len(specs) or _name_of(specs[place]) != node.name:  # new, or the signature has changed
        places = _PLACES[program] = {_name_of(spec): place for place, spec in enumerate(specs)}
        place = places.get(node.name, len(specs))
    return specs[place] if place < len(specs) and specs[place].kind in _CONSTANT_KINDS else None


def tensor_of(program: ExportedProgram, spec: InputSpec) -> torch.Tensor | None:
    """Return the tensor of a parameter, buffer or lifted constant; None if the program lacks it."""
    value = program.state_dict.get(str(spec.target), program.constants.get(str(spec.target)))
    return value if isinstance(value, torch.Tensor) else None


def constant_tensors(program: ExportedProgram) -> dict[str, torch.Tensor]:
    """Return placeholder name → tensor for parameters, constants and buffers that the program never writes."""
    written = set(program.graph_signature.buffers_to_mutate.values())
    specs = program.graph_signature.input_specs
    constants = (spec for spec in specs if spec.kind in _CONSTANT_KINDS and spec.target not in written)
    return {_name_of(spec): tensor for spec in constants if (tensor := tensor_of(program, spec)) is not None}


def _end_of_constants(program: ExportedProgram) -> tuple[int, fx.Node]:
    """Return the signature position and the node (or the first call) of the first input that is not a constant."""
    specs = program.graph_signature.input_specs
    position = next((i for i, spec in enumerate(specs) if spec.kind not in _CONSTANT_KINDS), len(specs))
    node: fx.Node = next(islice(program.graph.nodes, position, None))
    return position, node


@dataclass(frozen=True)
class NewConstant:
    """A tensor to add to a program, its fake tensor in the graph, and the node that it was computed from, if any."""

    tensor: torch.Tensor
    value: torch.Tensor
    origin: fx.Node | None = None


def add_constant(
    program: ExportedProgram, stem: str, tensor: torch.Tensor, value: torch.Tensor, origin: fx.Node | None = None
) -> fx.Node:
    """Add one constant as `add_constants` does. Return its node."""
    return add_constants(program, stem, [NewConstant(tensor, value, origin)])[0]


def add_constants(program: ExportedProgram, stem: str, constants: Sequence[NewConstant]) -> list[fx.Node]:
    """Add tensors to the program's constants, and a placeholder for each before the user's inputs. Return their nodes.

    stem: prefix of their names. Each call walks the program's constants once, however many it adds.
    """
    taken = {spec.target for spec in program.graph_signature.input_specs} | set(program.constants)
    free = (name for index in count() if (name := f"{stem}{index}") not in taken)
    position, where = _end_of_constants(program)
    nodes: list[fx.Node] = []
    specs: list[InputSpec] = []
    with program.graph.inserting_before(where):
        for constant, name in zip(constants, free, strict=False):
            node = program.graph.placeholder(name)
            node.meta = origin_of(constant.origin) if constant.origin is not None else {}
            node.meta["val"] = constant.value
            argument = TensorArgument(name=node.name)
            specs.append(InputSpec(InputKind.CONSTANT_TENSOR, argument, target=name, persistent=None))
            program.constants[name] = constant.tensor
            nodes.append(node)
    program.graph_signature.input_specs[position:position] = specs
    return nodes


def _placeholders(program: ExportedProgram) -> list[fx.Node]:
    return [node for node in program.graph.nodes if node.op == "placeholder"]


def drop_unused_constants(program: ExportedProgram) -> None:
    """Remove parameters, buffers and constants that no node reads and the program does not write."""
    signature = program.graph_signature
    written = set(signature.buffers_to_mutate.values()) | set(signature.parameters_to_mutate.values())
    unused = {node.name: node for node in _placeholders(program) if not node.users}
    kept = []
    for spec in signature.input_specs:
        node = unused.get(_name_of(spec))
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
