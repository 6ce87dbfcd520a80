# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The program that calls one kernel once: tensors are its inputs, results its outputs, all other arguments constants.
Made without the compiler, so that nothing decomposes the operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from oracle.kernels.argument_kinds import (
    BOOL,
    BOOLS,
    DOUBLE,
    DOUBLES,
    DTYPE_CODES,
    INT,
    INTS,
    NONE,
    OPTIONAL_TENSORS,
    STRING,
    TENSOR,
    TENSORS,
    kind_of,
)
from oracle.kernels.dense_memory import dim_order_of

from executorch.exir import schema as s
from executorch.exir.serialize import PteFile, serialize_pte

_LEAF = {INT: s.Int, DOUBLE: s.Double, STRING: s.String}


@dataclass
class _Plan:
    values: list[s.EValue] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)

    def add(self, value: s.KernelTypes) -> int:
        self.values.append(s.EValue(value))
        return len(self.values) - 1

    def tensor(self, tensor: torch.Tensor, places: list[int]) -> int:
        """Add an input or output in the caller's memory, not in an arena. A result may be smaller than its output."""
        dynamism = s.TensorShapeDynamism.DYNAMIC_BOUND if places is self.outputs else s.TensorShapeDynamism.STATIC
        kind = s.ScalarType(DTYPE_CODES[tensor.dtype])
        described = s.Tensor(kind, 0, list(tensor.shape), dim_order_of(tensor), False, 0, 0, None, dynamism)
        places.append(self.add(described))
        return places[-1]

    def argument(self, value: Any, schema_type: str, places: list[int]) -> int:
        kind, content = kind_of(value, schema_type)
        if kind == NONE:
            return self.add(s.Null())
        if kind == TENSOR:
            return self.tensor(content, places)
        if kind == BOOL:
            return self.add(s.Bool(bool(content)))
        if kind in _LEAF:
            return self.add(_LEAF[kind](content))
        items, item_type = content
        if kind in (DOUBLES, BOOLS):
            return self.add(s.DoubleList(list(items)) if kind == DOUBLES else s.BoolList(list(items)))
        ids = [-1 if item is None else self.argument(item, item_type, places) for item in items]
        return self.add({INTS: s.IntList, TENSORS: s.TensorList, OPTIONAL_TENSORS: s.OptionalTensorList}[kind](ids))


def kernel_program(name: str, schema: torch.FunctionSchema, args: Sequence[Any], outs: Sequence[Any]) -> bytes:
    """Return the program file. ``args``: of the operator in its order, no outputs. ``outs``: of the results' sizes."""
    plan = _Plan()
    inputs = [a for a in schema.arguments if not a.is_out]
    given = [*args, *(a.default_value for a in inputs[len(args) :])]
    operands = [plan.argument(v, str(a.real_type), plan.inputs) for v, a in zip(given, inputs, strict=True)]
    results = [a for a in schema.arguments if a.is_out]
    written = [plan.argument(v, str(a.real_type), plan.outputs) for v, a in zip(outs, results, strict=True)]
    # Like the compiler's, the call lists the outputs again, as results.
    operands += [*written, written[0] if len(written) == 1 else plan.add(s.TensorList(written))]
    operator, _, overload = name.partition(".")
    call = s.Instruction(s.KernelCall(0, operands))
    method = s.ExecutionPlan(
        name="forward",
        container_meta_type=s.ContainerMetadata("", ""),
        values=plan.values,
        inputs=plan.inputs,
        outputs=plan.outputs,
        chains=[s.Chain([], [], [call])],
        operators=[s.Operator(operator, overload)],
        delegates=[],
        non_const_buffer_sizes=[0],
    )
    return bytes(serialize_pte(PteFile(s.Program(0, [method], [s.Buffer(b"")], []))))
