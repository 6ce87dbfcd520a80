# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace constants that alias a buffer by that buffer.

    lifted_tensor_0 (constant), key_cache_0 (buffer): one tensor     →     key_cache_0

If a module stores a buffer's tensor in a second attribute, as the caches of transformers do, a non-strict export
lifts it as a constant. The program would then write to the constant instead of the buffer.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, InputSpec

from executorch.exir.rewrite.program_copy import copy_program


def use_buffers_for_aliased_constants(program: ExportedProgram) -> ExportedProgram:
    """Return the program, or a copy without the constants that alias a buffer with equal sizes and strides."""
    replaced = _aliases(program)
    if not replaced:
        return program
    copied = copy_program(program)
    placeholders = {node.name: node for node in copied.graph.find_nodes(op="placeholder")}
    for name, buffer in replaced.items():
        placeholders[name].replace_all_uses_with(placeholders[buffer])
        copied.graph.erase_node(placeholders[name])
    signature: Any = copied.graph_signature
    signature.input_specs = [spec for spec in signature.input_specs if _name(spec) not in replaced]
    copied.graph_module.recompile()
    return copied


def _name(spec: InputSpec) -> str:
    return "" if isinstance(spec.arg, ConstantArgument) else spec.arg.name


def _aliases(program: ExportedProgram) -> dict[str, str]:
    """Return the name of each aliased constant's placeholder → the name of the buffer's."""
    buffers: dict[object, str] = {}
    aliases: dict[str, str] = {}
    specs = program.graph_signature.input_specs
    for spec in specs:
        key = _memory(program, spec) if spec.kind is InputKind.BUFFER else None
        if key is not None:
            buffers.setdefault(key, _name(spec))
    for spec in specs:
        key = _memory(program, spec) if spec.kind is InputKind.CONSTANT_TENSOR else None
        if key in buffers:
            aliases[_name(spec)] = buffers[key]
    return aliases


def _memory(program: ExportedProgram, spec: InputSpec) -> object:
    """Return address, dtype and layout of a constant or buffer, None for tensors without memory of their own."""
    value = program.state_dict.get(spec.target or "")
    value = program.constants.get(spec.target or "") if value is None else value
    if type(value) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer) or value.layout is not torch.strided:
        return None
    if value.numel() == 0 or value.device.type == "meta" or isinstance(value, torch._subclasses.FakeTensor):
        return None
    return value.data_ptr(), value.dtype, tuple(value.shape), value.stride()
