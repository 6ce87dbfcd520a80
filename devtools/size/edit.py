# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Edit `.pte` files: extract a part, or strip unneeded parts.

Remaining methods compute the same. By itself, `strip` removes only debug names and unreferenced parts. It removes
methods and named data on request.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TypeGuard

from executorch.devtools.checked_program import checked_program
from executorch.devtools.size.breakdown import parts_with_bytes
from executorch.devtools.size.regions import program_of
from executorch.exir.schema import (
    Buffer,
    BytesLike,
    DataLocation,
    ExecutionPlan,
    KernelCall,
    KernelTypes,
    Program,
    Tensor,
    TensorDataLocation,
)
from executorch.exir.serialize import PteFile, PteLayout, serialize_pte
from executorch.exir.serialize.header import find_extended_header


class EditError(ValueError):
    """A requested part is not in the file, or cannot be removed."""


def extract(data: BytesLike, name: str) -> bytes:
    """Return the bytes of a constant, mutable buffer, delegate payload or named data by its name in `size_of`.

    Raises EditError unless exactly one part has the name, MalformedProgramError for bytes that are not a program.
    """
    parts = list(parts_with_bytes(checked_program(data)))
    contents = [bytes(content) for part, content in parts if part.name == name]
    if len(contents) != 1:
        known = ", ".join(sorted({f"'{part.name}'" for part, _ in parts})) or "none"
        raise EditError(f"'{name}': expected the name of one part, found {len(contents)} of: {known}")
    return contents[0]


def strip(
    data: BytesLike,
    *,
    debug: bool = False,
    methods: Collection[str] = (),
    backends: Collection[str] = (),
    named_data: Collection[str] = (),
    unused: bool = True,
) -> bytes:
    """Return the `.pte` file without `methods`, without the methods that delegate to `backends`, and without the
    `named_data` keys.

    debug: also remove stack traces and names of tensors (including mutable buffers, which `get_attribute` and training
    look up by name). unused: also remove constants, delegates, operators and initial values that no method refers to.

    Raises EditError for an unknown name, if no method would remain, or if a remaining delegate uses the named data;
    MalformedProgramError for bytes that are not a program.
    """
    layout = _layout(data)
    file = checked_program(data)
    program = file.program
    plans = _kept_plans(program, methods, backends)
    program = replace(program, execution_plan=[_without_debug(plan) for plan in plans] if debug else plans)
    file = replace(file, program=program)
    file = _without_named_data(file, named_data)
    return bytes(serialize_pte(_without_unused(file) if unused else file, layout))


def _layout(data: BytesLike) -> PteLayout:
    """Keep the layout of segments: separate ones for delegates, and the original alignments."""
    view = memoryview(data).cast("B")
    header = find_extended_header(view)
    if header is None:
        return PteLayout(extract_delegate_segments=False)
    program = program_of(view)
    delegates = [delegate.processed for plan in program.execution_plan for delegate in plan.delegates]
    in_segments = any(delegate.location is DataLocation.SEGMENT for delegate in delegates)
    alignment = 128
    while alignment < 1 << 16 and all(
        (header.segment_base_offset + segment.offset) % (2 * alignment) == 0 for segment in program.segments
    ):
        alignment *= 2
    return PteLayout(extract_delegate_segments=in_segments, segment_alignment=alignment if program.segments else 128)


def _kept_plans(program: Program, methods: Collection[str], backends: Collection[str]) -> list[ExecutionPlan]:
    plans = program.execution_plan
    _check_known("method", methods, {plan.name for plan in plans})
    _check_known("backend", backends, {delegate.id for plan in plans for delegate in plan.delegates})
    kept = [
        plan
        for plan in plans
        if plan.name not in methods and not any(delegate.id in backends for delegate in plan.delegates)
    ]
    if not kept:
        raise EditError(f"cannot remove all methods {[plan.name for plan in plans]}")
    return kept


def _check_known(what: str, wanted: Collection[str], known: Collection[str]) -> None:
    unknown = sorted(set(wanted) - set(known))
    if unknown:
        raise EditError(f"unknown {what} {unknown}: the file has {sorted(known)}")


def _without_debug(plan: ExecutionPlan) -> ExecutionPlan:
    chains = [replace(chain, stacktrace=None) for chain in plan.chains]
    return replace(plan, chains=chains, values=[replace(value, val=_unnamed(value.val)) for value in plan.values])


def _unnamed(value: KernelTypes) -> KernelTypes:
    extra = value.extra_tensor_info if isinstance(value, Tensor) else None
    if extra is None or extra.location is TensorDataLocation.EXTERNAL:
        return value  # data in another file is looked up by name
    assert isinstance(value, Tensor)
    return replace(value, extra_tensor_info=replace(extra, fully_qualified_name=None))


def _without_named_data(file: PteFile, keys: Collection[str]) -> PteFile:
    _check_known("named data", keys, file.named_data)
    payloads = [file.program.backend_delegate_data[index].data for index in _payloads(file.program)]
    for key in keys:
        if any(key.encode() in bytes(payload) for payload in payloads):
            raise EditError(f"named data '{key}': a remaining delegate uses it")
    return replace(file, named_data={key: blob for key, blob in file.named_data.items() if key not in keys})


def _payloads(program: Program) -> list[int]:
    """Indices of the payloads that delegates refer to, in order."""
    return list(
        dict.fromkeys(delegate.processed.index for plan in program.execution_plan for delegate in plan.delegates)
    )


def _without_unused(file: PteFile) -> PteFile:
    program = file.program
    payloads = _payloads(program)
    constants = _used_buffers(program, is_mutable=False)
    mutable = _used_buffers(program, is_mutable=True)
    new_places = (
        {old: new for new, old in enumerate(constants)},
        {old: new for new, old in enumerate(mutable)},
    )
    plans = [
        _renumbered(plan, {old: new for new, old in enumerate(payloads)}, new_places) for plan in program.execution_plan
    ]
    kept = replace(
        program,
        execution_plan=plans,
        constant_buffer=[program.constant_buffer[index] for index in constants],
        backend_delegate_data=[program.backend_delegate_data[index] for index in payloads],
    )
    values: list[Buffer] | None = file.mutable_data
    if values is not None:
        values = [values[index] for index in mutable] if len(mutable) > 1 else None
    return replace(file, program=kept, mutable_data=values)


def _has_bytes(value: object) -> TypeGuard[Tensor]:
    """Return whether a value is a tensor with bytes in the file."""
    if not isinstance(value, Tensor) or not value.data_buffer_idx:
        return False
    extra = value.extra_tensor_info
    return extra is None or extra.location is not TensorDataLocation.EXTERNAL


def _used_buffers(program: Program, is_mutable: bool) -> list[int]:
    """Return the indices of buffers that values use, in ascending order after 0, which means no bytes."""
    values = (value.val for plan in program.execution_plan for value in plan.values)
    tensors = (value for value in values if _has_bytes(value))
    return [
        0,
        *sorted({tensor.data_buffer_idx for tensor in tensors if (tensor.allocation_info is not None) == is_mutable}),
    ]


def _renumbered(
    plan: ExecutionPlan, payloads: dict[int, int], buffers: tuple[dict[int, int], dict[int, int]]
) -> ExecutionPlan:
    values = []
    for value in plan.values:
        tensor = value.val
        if _has_bytes(tensor):
            places = buffers[tensor.allocation_info is not None]
            value = replace(value, val=replace(tensor, data_buffer_idx=places[tensor.data_buffer_idx]))
        values.append(value)
    delegates = [
        replace(delegate, processed=replace(delegate.processed, index=payloads[delegate.processed.index]))
        for delegate in plan.delegates
    ]
    calls = [step.instr_args for chain in plan.chains for step in chain.instructions]
    used = sorted({call.op_index for call in calls if isinstance(call, KernelCall)})
    new_index = {old: new for new, old in enumerate(used)}
    chains = [
        replace(
            chain,
            instructions=[
                replace(step, instr_args=replace(step.instr_args, op_index=new_index[step.instr_args.op_index]))
                if isinstance(step.instr_args, KernelCall)
                else step
                for step in chain.instructions
            ],
        )
        for chain in plan.chains
    ]
    return replace(
        plan, values=values, delegates=delegates, chains=chains, operators=[plan.operators[index] for index in used]
    )
