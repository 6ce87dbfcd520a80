# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operators and dtypes that a program file uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from executorch.codegen.dtypes import SCALAR_TYPE_NAMES, meeting
from executorch.codegen.flatbuffer import FlatbufferError, Table, read_schema, root
from executorch.codegen.located_yaml import CodegenError

PROGRAM_SCHEMA = Path(__file__).resolve().parent.parent / "runtime" / "schema" / "program.fbs"
_IDENTIFIER = b"ET12"


@dataclass(frozen=True)
class ProgramUse:
    """Operators (``aten::add.out``) of all methods, and the dtypes of each operator's tensors (torch's names:
    ``Float``).

    Operators inside delegates are excluded: delegates have their own kernels.
    """

    operators: Mapping[str, frozenset[str]]

    @property
    def dtypes(self) -> frozenset[str]:
        """Dtypes of all operators."""
        return frozenset().union(*self.operators.values())


def read_program_use(path: Path) -> ProgramUse:
    """Read a ``.pte``. Raises ``CodegenError`` for any other file."""
    try:
        data = path.read_bytes()
    except OSError as e:
        raise CodegenError(f"{path}: cannot be read: {e}") from e
    if data[4:8] != _IDENTIFIER:
        raise CodegenError(f"{path}: expected a program with the identifier {_IDENTIFIER!r}, found {data[4:8]!r}")
    try:
        program = root(read_schema(PROGRAM_SCHEMA), data, "Program")
        operators: dict[str, frozenset[str]] = {}
        for plan in program.execution_plan or []:
            names = _operator_names(plan)
            operators |= {name: operators.get(name, frozenset()) for name in names}
            for call in _kernel_calls(plan):
                if not 0 <= call.op_index < len(names):
                    raise FlatbufferError(f"a call: expected an operator below {len(names)}, found {call.op_index}")
                operators[names[call.op_index]] |= _dtypes_of_call(plan, call)
    except FlatbufferError as e:
        raise CodegenError(f"{path}: not a valid program: {e}") from e
    return ProgramUse(operators)


def _operator_names(plan: Table) -> list[str]:
    operators = plan.operators or []
    return [f"{op.name}.{op.overload}" if op.overload else str(op.name) for op in operators]


def _kernel_calls(plan: Table) -> Iterable[Table]:
    for chain in plan.chains or []:
        for instruction in chain.instructions or []:
            call = instruction.instr_args
            if call is not None and call.kind == "KernelCall":
                yield call


def _dtypes_of_call(plan: Table, call: Table) -> set[str]:
    values = [_value(plan, index) for index in call.args or []]
    tensors = [tensor for value in values for tensor in _tensors(plan, value)]
    codes = {tensor.scalar_type for tensor in tensors}
    unknown = codes - SCALAR_TYPE_NAMES.keys()
    if unknown:
        raise FlatbufferError(f"a tensor has the unknown dtype number {min(unknown)}")
    has_number = any(value is not None and value.kind == "Double" for value in values)
    return meeting((SCALAR_TYPE_NAMES[code] for code in codes), has_floating_number=has_number)


def _tensors(plan: Table, value: Table | None) -> Iterable[Table]:
    if value is None:
        return
    if value.kind == "Tensor":
        yield value
    elif value.kind in ("TensorList", "OptionalTensorList"):
        for index in value.items or []:
            item = _value(plan, index) if index >= 0 else None
            if item is not None and item.kind == "Tensor":
                yield item


def _value(plan: Table, index: int) -> Table | None:
    values = plan.values or []
    if not 0 <= index < len(values):
        raise FlatbufferError(f"an argument: expected a value below {len(values)}, found {index}")
    val: Table | None = values[index].val
    return val
