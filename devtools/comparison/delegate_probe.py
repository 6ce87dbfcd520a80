# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Probe a delegate: run only the file's delegate, on its recorded inputs, with the values of all its operators as
outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import fx

from executorch.devtools.backend_tools import debug_tools
from executorch.devtools.checked_program import checked_program
from executorch.devtools.comparison.relower import plan_of
from executorch.devtools.inspector.attribution import handles_of_node
from executorch.devtools.inspector.sources import computes
from executorch.exir.backend.debug_tools import OpenedOutput
from executorch.exir.scalar_type import ScalarType, to_dtype, to_scalar_type
from executorch.exir.schema import (
    AllocationDetails,
    BackendDelegate,
    BackendDelegateDataReference,
    BackendDelegateInlineData,
    Buffer,
    Chain,
    ContainerMetadata,
    DataLocation,
    DelegateCall,
    EValue,
    ExecutionPlan,
    Instruction,
    Program,
    Tensor,
    TensorShapeDynamism,
)
from executorch.exir.serialize import serialize_pte
from executorch.exir.serialize.pte_file import PteFile
from executorch.runtime import Runtime

_ALIGNMENT = 64


@dataclass(frozen=True)
class InnerValue:
    """Value of a delegate's operator.

    node: the last node of the model that is fused into the operator; nodes: all of them. expected: the model's value of
    `node`; found: the delegate's. step: scale of a quantized value, else 0.
    """

    node: fx.Node
    nodes: tuple[fx.Node, ...]
    kind: str
    expected: torch.Tensor
    found: torch.Tensor
    step: float


def can_open(backend: str) -> bool:
    """Return whether payloads of the backend can be opened."""
    return debug_tools(backend).open_payload is not None


def values_inside(
    program: bytes,
    method: str,
    instruction: int,
    recorded: Sequence[Any],
    output_count: int,
    values: Mapping[fx.Node, Any],
    members: set[int],
) -> list[InnerValue]:
    """Values inside the delegate that `instruction` calls, paired with the values of the model's nodes.

    recorded: arguments of the call, outputs last; for several calls, concatenated. members: debug handles of the
    delegate's nodes. Raises ValueError unless the instruction calls a delegate whose backend can be opened.
    """
    file = checked_program(program)
    plan = plan_of(file.program.execution_plan, method)
    call = plan.chains[0].instructions[instruction].instr_args
    if not isinstance(call, DelegateCall):
        raise ValueError(f"instruction {instruction}: expected a call of a delegate")
    delegate = plan.delegates[call.delegate_index]
    open_payload = debug_tools(delegate.id).open_payload
    if open_payload is None:
        raise ValueError(f"instruction {instruction}: '{delegate.id}' has no debug tool that opens a payload")
    opened, outputs = open_payload(file.program.backend_delegate_data[delegate.processed.index].data)
    last_call = list(recorded)[-len(call.args) :]
    if len(last_call) < len(call.args) or not all(isinstance(argument, torch.Tensor) for argument in last_call):
        return []  # some inputs were not recorded
    inputs = last_call[: len(call.args) - output_count]
    alone = PteFile(_program_calling(delegate, opened, inputs, outputs), None, file.named_data)
    method_alone = Runtime.get().load_program(bytes(serialize_pte(alone))).load_method("forward")
    returned = method_alone.execute(inputs)
    return _beside(outputs, returned, values, members)


def _program_calling(
    delegate: BackendDelegate, payload: bytes, inputs: Sequence[torch.Tensor], outputs: Sequence[OpenedOutput]
) -> Program:
    """A program that consists of one call of the delegate."""
    kinds = [(to_scalar_type(value.dtype), tuple(value.shape)) for value in inputs]
    kinds += [(output.dtype, output.sizes) for output in outputs]
    values, end = [], 0
    for dtype, sizes in kinds:
        place = AllocationDetails(1, end & 0xFFFFFFFF, end >> 32)
        order = list(range(len(sizes)))
        dynamism = TensorShapeDynamism.DYNAMIC_BOUND
        values.append(EValue(Tensor(dtype, 0, list(sizes), order, False, 0, 0, place, dynamism)))
        nbytes = prod(sizes) * to_dtype(dtype).itemsize
        end += -(-max(1, nbytes) // _ALIGNMENT) * _ALIGNMENT
    input_indices, output_indices = list(range(len(inputs))), list(range(len(inputs), len(kinds)))
    entry = BackendDelegate(delegate.id, BackendDelegateDataReference(DataLocation.INLINE, 0), delegate.compile_specs)
    plan = ExecutionPlan(
        name="forward",
        container_meta_type=ContainerMetadata("", ""),
        values=values,
        inputs=input_indices,
        outputs=output_indices,
        chains=[
            Chain(input_indices, output_indices, [Instruction(DelegateCall(0, [*input_indices, *output_indices]))])
        ],
        operators=[],
        delegates=[entry],
        non_const_buffer_sizes=[0, end],
    )
    return Program(0, [plan], [Buffer(b"")], [BackendDelegateInlineData(payload)])


def _beside(
    outputs: Sequence[OpenedOutput], returned: Sequence[torch.Tensor], values: Mapping[fx.Node, Any], members: set[int]
) -> list[InnerValue]:
    own = {output.handle for output in outputs if output.handle}
    groups: dict[int, list[fx.Node]] = {}
    for node in values:
        for handle in handles_of_node(node):
            groups.setdefault(handle, []).append(node)
    inner_values: dict[fx.Node, InnerValue] = {}
    for output, value in zip(outputs, returned, strict=True):
        if output.handle not in groups:
            continue
        is_quantized = output.dtype in (ScalarType.CHAR, ScalarType.BYTE)
        real = (value.to(torch.float64) - output.zero_point) * output.scale if is_quantized else value
        group = groups[output.handle]
        chain = _fused(group[-1], own, members)
        for node in reversed([link for link in chain if isinstance(values.get(link), torch.Tensor)]):
            fitting = _in_layout_of(values[node], value if values[node].dtype == value.dtype else real)
            if fitting is not None:
                step = 1.0 if fitting.dtype in (torch.int8, torch.uint8) else output.scale if is_quantized else 0.0
                nodes = _named([*group[:-1], *chain[: chain.index(node) + 1]])
                inner_values[node] = InnerValue(node, nodes, output.kind, values[node], fitting, step)
                break
    return list(inner_values.values())


def _named(nodes: Sequence[fx.Node]) -> tuple[fx.Node, ...]:
    """The nodes that compute; the last node if none does."""
    return tuple(node for node in nodes if computes(node)) or (nodes[-1],)


def _fused(node: fx.Node, own: set[int], members: set[int]) -> list[fx.Node]:
    """Return `node` and the chain of single readers after it whose results exist only in the operator of `node`: the
    delegate has no operators for them, because they are fused.
    """
    chain = [node]
    while len(chain[-1].users) == 1:
        (reader,) = chain[-1].users
        handles = handles_of_node(reader)
        if reader.op != "call_function" or handles & own or not handles & members:
            break
        chain.append(reader)
    return chain


def _in_layout_of(expected: torch.Tensor, found: torch.Tensor) -> torch.Tensor | None:
    """`found` in the layout of `expected`; None if no layout that a backend may choose fits.

    If several fit, as for a square image with equally many channels, take the one with the smaller difference.
    """
    choices = [found] if found.shape == expected.shape else []
    if found.dim() == 4 and tuple(found.permute(0, 3, 1, 2).shape) == tuple(expected.shape):
        choices.append(found.permute(0, 3, 1, 2))
    if not choices and _large(found) == _large(expected):
        choices = [found.reshape(expected.shape)]

    def distance(choice: torch.Tensor) -> float:
        return float((choice.to(torch.float64) - expected.to(torch.float64)).nan_to_num().abs().max())

    return min(choices, key=distance, default=None) if expected.numel() else None


def _large(value: torch.Tensor) -> list[int]:
    return [size for size in value.shape if size != 1]
