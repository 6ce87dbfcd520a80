# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace inputs that alias a buffer by that buffer.

    lifted_tensor_0 (constant), key_cache_0 (buffer): one tensor     →     key_cache_0

If a module stores a buffer's tensor in a second attribute, as the caches of transformers do, a non-strict export
lifts it as a constant. The program would then write to the constant instead of the buffer. A buffer of a module that
two others share is two inputs of a non-strict export; torch's `run_decompositions` fails if one is written.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, InputSpec

from executorch.exir.rewrite.program_copy import copy_program


def use_one_input_for_each_buffer(program: ExportedProgram) -> ExportedProgram:
    """Return the program, or a copy without the buffers and constants that alias an earlier buffer.

    Aliases have its sizes and strides.
    """
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
    """Return the name of each alias's placeholder → the name of the placeholder of the first buffer."""
    buffers: dict[object, str] = {}
    aliases: dict[str, str] = {}
    specs = program.graph_signature.input_specs
    for kind in (InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
        for spec in specs:
            key = _memory(program, spec) if spec.kind is kind else None
            if key in buffers:
                aliases[_name(spec)] = buffers[key]
            elif key is not None and kind is InputKind.BUFFER:
                buffers[key] = _name(spec)
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
