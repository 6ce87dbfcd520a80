# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Well-formed programs whose values alias in ways that would let kernels access other values' memory.

docs/alias-model.md has the rules. These tests run them with the real kernels, through Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from executorch.exir.schema import (
    AllocationDetails,
    Bool,
    Buffer,
    Chain,
    ContainerMetadata,
    EValue,
    ExecutionPlan,
    Instruction,
    Int,
    IntList,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    Null,
    Operator,
    OptionalTensorList,
    Program,
    ScalarType,
    Tensor,
    TensorList,
    TensorShapeDynamism,
)
from executorch.exir.serialize import PteFile, serialize_pte
from executorch.runtime import InvalidProgramError, InvalidStateError, Runtime

INT64, FLOAT, BOOL = ScalarType.LONG, ScalarType.FLOAT, ScalarType.BOOL
STATIC, DYNAMIC = TensorShapeDynamism.STATIC, TensorShapeDynamism.DYNAMIC_BOUND


def tensor(
    dtype: ScalarType, *sizes: int, at: int | None = None, constant: int = 0, dynamism: TensorShapeDynamism = STATIC
) -> Tensor:
    place = None if at is None else AllocationDetails(1, at, 0)
    order = list(range(len(sizes)))
    return Tensor(dtype, 0, list(sizes), order, False, 0, constant, place, dynamism)


def call(op: int, *args: int) -> KernelCall:
    return KernelCall(op, list(args))


def program(
    values: list[Any],
    inputs: list[int],
    outputs: list[int],
    operators: list[str],
    code: list[Any],
    states: list[Buffer] | None = None,
) -> bytes:
    plan = ExecutionPlan(
        name="forward",
        container_meta_type=ContainerMetadata("", ""),
        values=[EValue(value) for value in values],
        inputs=inputs,
        outputs=outputs,
        chains=[Chain([], [], [Instruction(arguments) for arguments in code])],
        operators=[Operator(*name.split(".")) if "." in name else Operator(name, "") for name in operators],
        delegates=[],
        non_const_buffer_sizes=[0, 4096],
    )
    constants = [Buffer(b""), Buffer(bytes(64))]
    return bytes(serialize_pte(PteFile(Program(0, [plan], constants, []), mutable_data=states)))


def load(data: bytes) -> Any:
    return Runtime.get().load_program(data).load_method("forward")


def bincount(out_at: int) -> bytes:
    values = [tensor(INT64, 4, at=0), Null(), Int(0), tensor(INT64, 64, at=out_at, dynamism=DYNAMIC)]
    return program(values, [0], [3], ["aten::bincount.out"], [call(0, 0, 1, 2, 3, 3)])


def test_the_program_that_is_changed_below_runs() -> None:
    np.testing.assert_array_equal(load(bincount(64)).execute([np.array([0, 1, 1, 3])])[0], [1, 2, 0, 1])


@pytest.mark.parametrize("at", [0, 8, 24])
def test_indices_are_not_where_the_result_is(at: int) -> None:
    with pytest.raises(InvalidProgramError, match=r"instruction 0: value 0 \(bytes 0 to 32 of planned buffer 1\)"):
        load(bincount(at))


def test_an_index_in_a_list_is_not_where_the_result_is() -> None:
    values = [
        tensor(FLOAT, 8, at=0),
        tensor(INT64, 4, at=64),
        OptionalTensorList([1]),
        tensor(FLOAT, 4, at=72),
    ]
    with pytest.raises(InvalidProgramError, match=r"value 1 .* shares bytes with value 3"):
        load(program(values, [0, 1], [3], ["aten::index.Tensor_out"], [call(0, 0, 2, 3, 3)]))


@pytest.mark.parametrize("moves", [False, True])
def test_a_resized_tensor_is_not_read(moves: bool) -> None:
    values = [
        tensor(FLOAT, 4, 4, at=0, dynamism=DYNAMIC),
        tensor(FLOAT, 4, 4, at=64),
        Int(1),
        tensor(FLOAT, 4, 4, at=128, dynamism=DYNAMIC),
    ]
    code = [MoveCall(0, 3)] if moves else []
    target = 3 if moves else 0
    with pytest.raises(InvalidProgramError, match="is read, but may be the same tensor"):
        load(program(values, [0, 1], [0], ["aten::add.out"], [*code, call(0, 0, 1, 2, target, target)]))


def test_no_list_of_constants_becomes_a_list_of_results() -> None:
    values = [
        tensor(FLOAT, 4, at=0),
        Int(2),
        Int(0),
        tensor(FLOAT, 2, at=64),
        tensor(FLOAT, 2, at=72),
        TensorList([3, 4]),
        tensor(FLOAT, 2, constant=1),
        TensorList([6, 6]),
    ]
    code = [MoveCall(7, 5), call(0, 0, 1, 2, 5, 5)]
    with pytest.raises(InvalidProgramError, match="expected a tensor, a number or None"):
        load(program(values, [0], [3], ["aten::split_copy.Tensor_out"], code))


def test_a_constant_is_not_written_through_a_view() -> None:
    values = [
        tensor(FLOAT, 4, at=0),
        tensor(FLOAT, 4, constant=1),
        Int(4),
        IntList([2]),
        tensor(FLOAT, 4),
        Bool(False),
    ]
    code = [call(0, 1, 3, 4), call(1, 4, 0, 5, 4)]
    with pytest.raises(InvalidProgramError, match="may be a constant"):
        load(program(values, [0], [4], ["executorch_prim::et_view.default", "aten::copy_"], code))


def test_a_view_of_an_input_ends_with_the_execution() -> None:
    """A jump skips the view in the second iteration: the first input's memory is no longer read."""
    values = [
        tensor(FLOAT, 4),
        tensor(BOOL, 1),
        Int(4),
        IntList([2]),
        tensor(FLOAT, 4),
        Int(1),
        tensor(FLOAT, 4, at=0),
    ]
    code = [JumpFalseCall(1, 2), call(0, 0, 3, 4), call(1, 4, 4, 5, 6, 6)]
    method = load(program(values, [0, 1], [6], ["executorch_prim::et_view.default", "aten::add.out"], code))
    ones = np.ones(4, np.float32)
    np.testing.assert_array_equal(method.execute([ones, np.array([True])])[0], ones + ones)
    with pytest.raises(InvalidStateError, match="a view has to be made in the same execution"):
        method.execute([np.zeros(4, np.float32), np.array([False])])


def states_in_one_place(count: int) -> bytes:
    """A program that adds an input to itself, and has `count` states of 4,096 bytes with one place and one value."""
    states = [tensor(FLOAT, 1024, at=0, constant=1) for _ in range(count)]
    values = [tensor(FLOAT, 4), tensor(FLOAT, 4), Int(1), *states]
    code = [call(0, 0, 0, 2, 1, 1)]
    return program(values, [0], [1], ["aten::add.out"], code, [Buffer(b""), Buffer(bytes(4096))])


def test_few_states_may_have_one_place() -> None:
    np.testing.assert_array_equal(load(states_in_one_place(4)).execute([np.ones(4, np.float32)])[0], np.full(4, 2))


def test_many_states_have_no_common_place() -> None:
    with pytest.raises(InvalidProgramError, match="has 24576 bytes of initial data for 4096 bytes of planned memory"):
        load(states_in_one_place(6))
