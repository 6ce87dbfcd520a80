# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Bytes of constants by module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.exir.error import module_name
from executorch.exir.lowered_backend_module import get_lowered_backend_modules
from executorch.exir.schema import BytesLike, Program, Tensor

_MAX_USERS = 16


def constants_of_programs(programs: Mapping[str, ExportedProgram]) -> dict[str, int]:
    """Return the bytes of constants in the methods' graphs and delegates, by module path.

    A name used by several graphs counts once. Delegates may store constants in another form and size.
    """
    sizes: dict[str, tuple[str, int]] = {}
    for method, program in programs.items():
        for delegate in _with_delegates(program):
            for node, name, size in _constants(delegate):
                # The compiler names computed constants itself: use the module of their reader.
                key = name if "." in name else f"{method} {name}"
                sizes[key] = (name.rpartition(".")[0] or _module_of_user(node), size)
    totals: Counter[str] = Counter()
    for module, size in sizes.values():
        totals[module] += size
    return dict(totals)


def _with_delegates(program: ExportedProgram) -> Iterable[ExportedProgram]:
    yield program
    for module in get_lowered_backend_modules(program.graph_module):
        yield from _with_delegates(module.original_module)


def _constants(program: ExportedProgram) -> Iterable[tuple[Node, str, int]]:
    """Yield node, name and bytes of the constants that a graph reads; not of mutable state, which is in an arena."""
    signature = program.graph_signature
    names = {
        **signature.inputs_to_parameters,
        **signature.inputs_to_buffers,
        **signature.inputs_to_lifted_tensor_constants,
    }
    mutated = set(signature.buffers_to_mutate.values())
    values = {**program.constants, **program.state_dict}
    for node in program.graph_module.graph.nodes:
        name = names.get(node.name, "")
        tensor = values.get(name)
        if node.users and name not in mutated and isinstance(tensor, torch.Tensor):
            yield node, name, tensor.nbytes


def _module_of_user(node: Node) -> str:
    """Module of the first reader, followed through nodes without a module, such as the dequantize of a weight."""
    seen, waiting = {node}, [node]
    for current in waiting:
        for user in current.users:
            if module_name(user):
                return module_name(user)
            if user not in seen:
                seen.add(user)
                waiting.append(user)
        if len(waiting) > _MAX_USERS:
            break
    return ""


def constants_of_file(program: Program) -> dict[str, int]:
    """Return the bytes of a file's constants by module path, as their names in the file give it; "" without a name."""
    buffers: dict[int, BytesLike] = {index: buffer.storage for index, buffer in enumerate(program.constant_buffer)}
    names: dict[int, str] = {}
    for plan in program.execution_plan:
        for value in plan.values:
            tensor = value.val
            if isinstance(tensor, Tensor) and tensor.data_buffer_idx and tensor.allocation_info is None:
                extra = tensor.extra_tensor_info
                names.setdefault(tensor.data_buffer_idx, (extra.fully_qualified_name if extra else None) or "")
    totals: Counter[str] = Counter()
    for index, name in names.items():
        if index in buffers:
            totals[name.rpartition(".")[0]] += len(buffers[index])
    return {name: size for name, size in totals.items() if size}
