# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""What a delegate computes between its inputs and outputs: the delegate of the file, made to return the values of all
of its operators, run by itself on the inputs that it had."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import torch
from torch import fx

from executorch.devtools.checked_program import checked_program
from executorch.devtools.inspector.attribution import handles_of_node
from executorch.devtools.inspector.sources import computes
from executorch.devtools.lowering_again import plan_of
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

# Who opens a backend's payload, found by name: these tools depend on none.
_OPENERS = {"XnnpackBackend": "executorch.backends.xnnpack.serialization.opened_payload:open_payload"}
_ALIGNMENT = 64


class OpenedOutput(Protocol):
    """A value that an opened delegate returns: the operator's kind and debug handle (0: none), what its integers stand
    for."""

    @property
    def kind(self) -> str: ...
    @property
    def handle(self) -> int: ...
    @property
    def dtype(self) -> ScalarType: ...
    @property
    def sizes(self) -> tuple[int, ...]: ...
    @property
    def scale(self) -> float: ...
    @property
    def zero_point(self) -> int: ...


@dataclass(frozen=True)
class InnerValue:
    """What the delegate's operator of `kind` computed for nodes of the model, fused into it, and what it should have:
    the value of `node`, the last of them.

    `step`: of quantized values, the difference that one makes, else 0.
    """

    node: fx.Node
    nodes: tuple[fx.Node, ...]
    kind: str
    expected: torch.Tensor
    found: torch.Tensor
    step: float


def can_open(backend: str) -> bool:
    """Whether it is known how to look into the backend's delegates."""
    return backend in _OPENERS


def values_inside(
    program: bytes,
    method: str,
    instruction: int,
    recorded: Sequence[Any],
    output_count: int,
    values: Mapping[fx.Node, Any],
    members: set[int],
) -> list[InnerValue]:
    """What the delegate that `instruction` calls computes, beside the values of the model's nodes.

    recorded: the call's arguments, the last of which are its outputs; of several calls, one after the other. members:
    the debug handles of what it runs. Raises ValueError if the instruction calls none, or of a backend that cannot be
    opened.
    """
    file = checked_program(program)
    plan = plan_of(file.program.execution_plan, method)
    call = plan.chains[0].instructions[instruction].instr_args
    if not isinstance(call, DelegateCall) or not can_open(plan.delegates[call.delegate_index].id):
        raise ValueError(f"instruction {instruction} calls no delegate that can be opened")
    delegate = plan.delegates[call.delegate_index]
    module, _, name = _OPENERS[delegate.id].partition(":")
    payload = file.program.backend_delegate_data[delegate.processed.index].data
    opened, outputs = getattr(importlib.import_module(module), name)(payload)
    last_call = list(recorded)[-len(call.args) :]
    if len(last_call) < len(call.args) or not all(isinstance(each, torch.Tensor) for each in last_call):
        return []  # not all was recorded: there is nothing to run it on
    inputs = last_call[: len(call.args) - output_count]
    alone = PteFile(_program_calling(delegate, opened, inputs, outputs), None, file.named_data)
    method_alone = Runtime.get().load_program(bytes(serialize_pte(alone))).load_method("forward")
    returned = method_alone.execute(inputs)
    return _beside(outputs, returned, values, members)


def _program_calling(
    delegate: BackendDelegate, payload: bytes, inputs: Sequence[torch.Tensor], outputs: Sequence[OpenedOutput]
) -> Program:
    """A program that does nothing but call the delegate."""
    kinds = [(to_scalar_type(each.dtype), tuple(each.shape)) for each in inputs]
    kinds += [(each.dtype, each.sizes) for each in outputs]
    values, end = [], 0
    for dtype, sizes in kinds:
        place = AllocationDetails(1, end & 0xFFFFFFFF, end >> 32)
        order = list(range(len(sizes)))
        dynamism = TensorShapeDynamism.DYNAMIC_BOUND
        values.append(EValue(Tensor(dtype, 0, list(sizes), order, False, 0, 0, place, dynamism)))
        nbytes = prod(sizes) * to_dtype(dtype).itemsize
        end += -(-max(1, nbytes) // _ALIGNMENT) * _ALIGNMENT
    given, made = list(range(len(inputs))), list(range(len(inputs), len(kinds)))
    held = BackendDelegate(delegate.id, BackendDelegateDataReference(DataLocation.INLINE, 0), delegate.compile_specs)
    plan = ExecutionPlan(
        name="forward",
        container_meta_type=ContainerMetadata("", ""),
        values=values,
        inputs=given,
        outputs=made,
        chains=[Chain(given, made, [Instruction(DelegateCall(0, [*given, *made]))])],
        operators=[],
        delegates=[held],
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
    found: dict[fx.Node, InnerValue] = {}
    for output, value in zip(outputs, returned, strict=True):
        if output.handle not in groups:
            continue
        is_quantized = output.dtype in (ScalarType.CHAR, ScalarType.BYTE)
        real = (value.to(torch.float64) - output.zero_point) * output.scale if is_quantized else value
        group = groups[output.handle]
        chain = _fused(group[-1], own, members)
        for node in reversed([each for each in chain if isinstance(values.get(each), torch.Tensor)]):
            fitting = _in_layout_of(values[node], value if values[node].dtype == value.dtype else real)
            if fitting is not None:
                step = 1.0 if fitting.dtype in (torch.int8, torch.uint8) else output.scale if is_quantized else 0.0
                nodes = _named([*group[:-1], *chain[: chain.index(node) + 1]])
                found[node] = InnerValue(node, nodes, output.kind, values[node], fitting, step)
                break
    return list(found.values())


def _named(nodes: Sequence[fx.Node]) -> tuple[fx.Node, ...]:
    """Those that compute something; the last if none of them does."""
    return tuple(node for node in nodes if computes(node)) or (nodes[-1],)


def _fused(node: fx.Node, own: set[int], members: set[int]) -> list[fx.Node]:
    """The node and what follows it alone in the delegate, of which no operator there is: it is part of the node's."""
    chain = [node]
    while len(chain[-1].users) == 1:
        (reader,) = chain[-1].users
        handles = handles_of_node(reader)
        if reader.op != "call_function" or handles & own or not handles & members:
            break
        chain.append(reader)
    return chain


def _in_layout_of(expected: torch.Tensor, found: torch.Tensor) -> torch.Tensor | None:
    """The value in the node's layout; None if it has none of the layouts that a backend may choose.

    Where both fit, as in a square image with as many channels, the nearer one is meant.
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
