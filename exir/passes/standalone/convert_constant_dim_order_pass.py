# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented pass that makes constants dense; nothing inside the project imports it.

The emitter copies such constants itself. Users run the pass for backends that read constants as they are.
"""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind


def convert_constant_dim_order_pass(exported_program: ExportedProgram) -> ExportedProgram:
    """Make constants and buffers contiguous that are neither contiguous nor channels last; in place."""
    placeholders = {node.name: node for node in exported_program.graph.nodes if node.op == "placeholder"}
    for spec in exported_program.graph_signature.input_specs:
        if spec.kind not in (InputKind.CONSTANT_TENSOR, InputKind.BUFFER):
            continue
        for tensors in (exported_program.constants, exported_program.state_dict):
            tensor = tensors.get(str(spec.target))
            if isinstance(tensor, torch.Tensor) and not _is_dense(tensor):
                tensors[str(spec.target)] = tensor.contiguous()
                meta = placeholders[spec.arg.name].meta
                meta["val"] = meta["val"].contiguous()
    return exported_program


def _is_dense(tensor: torch.Tensor) -> bool:
    return tensor.is_contiguous() or (tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last))
