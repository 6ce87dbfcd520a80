# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Break a file down into parts; every byte counts once."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from executorch.devtools.checked_program import checked_program
from executorch.devtools.size.regions import Region, regions_of, totals_of
from executorch.exir.schema import BytesLike, KernelCall, Program, Tensor
from executorch.exir.serialize.pte_file import PteFile


@dataclass(frozen=True)
class Part:
    """Bytes of one constant, mutable buffer, delegate or named data.

    name: as in the file. uses: number of tensors or delegates that refer to it. same_as: name of an earlier part with
    equal bytes.
    """

    kind: str
    name: str
    nbytes: int
    uses: int = 1
    same_as: str | None = None


@dataclass(frozen=True)
class Size:
    """Breakdown of a file.

    totals: kind → bytes, summing up to the file; alignment between constants counts as constants. parts: largest first.
    operators, delegates: number of calls of each in all methods. duplicates: bytes of parts equal to earlier parts.
    regions: in file order, padding with its reason.
    """

    file: int
    totals: dict[str, int]
    parts: list[Part]
    operators: dict[str, int]
    delegates: dict[str, int]
    duplicates: int
    regions: list[Region]

    def as_dict(self) -> dict[str, Any]:
        """Return numbers, strings, lists and dicts, for JSON."""
        return asdict(self)


def size_of(data: BytesLike) -> Size:
    """Break down a `.pte` file's bytes. Raises MalformedProgramError for any other bytes."""
    view = memoryview(data).cast("B")
    file = checked_program(view)
    parts = list(_marked(parts_with_bytes(file)))
    return Size(
        file=len(view),
        totals=totals_of(view),
        regions=regions_of(view),
        parts=sorted(parts, key=lambda part: -part.nbytes),
        operators=_operators(file.program),
        delegates=dict(Counter(delegate.id for plan in file.program.execution_plan for delegate in plan.delegates)),
        duplicates=sum(part.nbytes for part in parts if part.same_as is not None),
    )


def parts_with_bytes(file: PteFile) -> Iterator[tuple[Part, BytesLike]]:
    """Every constant, mutable buffer, delegate payload and named data with its bytes; duplicates are not marked."""
    uses: Counter[tuple[bool, int]] = Counter()
    names: dict[tuple[bool, int], str] = {}
    for plan in file.program.execution_plan:
        for index, value in enumerate(plan.values):
            if isinstance(value.val, Tensor) and value.val.data_buffer_idx:
                tensor = value.val
                key = (tensor.allocation_info is not None, tensor.data_buffer_idx)
                uses[key] += 1
                shape = " x ".join(map(str, tensor.sizes)) or "scalar"
                qualified = tensor.extra_tensor_info.fully_qualified_name if tensor.extra_tensor_info else None
                name = qualified or f"{plan.name} %{index}"
                names.setdefault(key, f"{name} {tensor.scalar_type.name.lower()} {shape}")
    groups = (("constant", False, file.program.constant_buffer), ("mutable buffer", True, file.mutable_data or []))
    for kind, is_mutable, buffers in groups:
        for index, buffer in enumerate(buffers):
            if len(buffer.storage):
                key = (is_mutable, index)
                yield Part(kind, names.get(key, f"buffer {index}"), len(buffer.storage), uses[key]), buffer.storage
    calls = Counter(delegate.processed.index for plan in file.program.execution_plan for delegate in plan.delegates)
    ids = {delegate.processed.index: delegate.id for plan in file.program.execution_plan for delegate in plan.delegates}
    for index, payload in enumerate(file.program.backend_delegate_data):
        name = f"{ids.get(index, 'no delegate')} payload {index}"
        yield Part("delegate", name, len(payload.data), calls[index]), payload.data
    for key_name, blob in file.named_data.items():
        yield Part("named data", key_name, len(blob.data)), blob.data


def _marked(parts: Iterator[tuple[Part, BytesLike]]) -> Iterator[Part]:
    seen: dict[bytes, str] = {}
    for part, data in parts:
        digest = hashlib.sha256(data).digest()
        yield replace(part, same_as=seen[digest]) if digest in seen else part
        seen.setdefault(digest, part.name)


def _operators(program: Program) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for plan in program.execution_plan:
        for chain in plan.chains:
            for instruction in chain.instructions:
                call = instruction.instr_args
                if isinstance(call, KernelCall):
                    operator = plan.operators[call.op_index]
                    counts[f"{operator.name}.{operator.overload}".removesuffix(".")] += 1
    return dict(counts.most_common())
