# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Recorded values that contradict each other, or would take unbounded time or memory, are refused with a reason."""

from pathlib import Path

import pytest
import torch

from executorch.devtools import Inspector
from executorch.devtools.etdump.schema_flatcc import (
    DebugEvent,
    ETDumpFlatCC,
    Event,
    RunData,
    Tensor,
    TensorList,
    Value,
    ValueType,
)
from executorch.devtools.etdump.serialize import serialize_to_etdump_flatcc
from executorch.exir.schema import ScalarType

BYTES = 4096


def inspected(values: list[Value], folder: Path) -> Inspector:
    events = [
        Event(debug_event=DebugEvent(chain_index=0, instruction_id=index, debug_entry=value))
        for index, value in enumerate(values)
    ]
    (folder / "buffer").write_bytes(bytes(BYTES))
    trace = serialize_to_etdump_flatcc(ETDumpFlatCC(0, [RunData("Execute", -1, [], events)]))
    return Inspector(etdump_data=trace, debug_buffer_path=folder / "buffer")


def tensor(sizes: list[int], strides: list[int], offset: int = 0) -> Value:
    return Value(ValueType.TENSOR, tensor=Tensor(ScalarType.FLOAT, sizes, strides, offset))


def test_each_byte_may_be_recorded_a_few_times(tmp_path: Path) -> None:
    inspected_values = inspected([tensor([BYTES // 4], [1])] * 16, tmp_path)
    assert [event.debug_data[0].shape for event in inspected_values.event_blocks[0].events] == [(BYTES // 4,)] * 16


@pytest.mark.parametrize(
    "values",
    [
        [tensor([BYTES // 4], [1])] * 17,
        [Value(ValueType.TENSOR_LIST, tensor_list=TensorList([Tensor(ScalarType.BYTE, [BYTES], [1], 0)] * 17))],
        [tensor([BYTES // 4, 1], [1, 1])] * 40,
    ],
)
def test_values_of_the_same_bytes_are_refused_beyond_a_limit(values: list[Value], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"refers to more than 16 times"):
        inspected(values, tmp_path)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (tensor([2**40, 0], [1, 1]), "expected sizes up to"),
        (tensor([2**31 - 1, 2**31 - 1, 2**31 - 1], [1, 1, 1]), "debug buffer has 4096"),
        (tensor([2, 2], [2**62, 2**62]), "debug buffer has 4096"),
        (tensor([BYTES // 4], [0], 4), "debug buffer has 4096"),
        (tensor([1], [1], -4), "debug buffer has 4096"),
        (tensor([1], []), "do not match strides"),
        (tensor([-1], [1]), "do not match strides"),
        (Value(ValueType.INT), "expected its 'int_value'"),
        (Value(ValueType.DOUBLE), "expected its 'double_value'"),
    ],
)
def test_values_that_contradict_each_other_are_refused(value: Value, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=reason):
        inspected([value], tmp_path)


def test_tensors_without_elements_need_no_buffer(tmp_path: Path) -> None:
    (event,) = inspected([tensor([0, 2**31 - 1, 2**31 - 1], [1, 1, 1])], tmp_path).event_blocks[0].events
    assert event.debug_data[0].shape == torch.Size([0, 2**31 - 1, 2**31 - 1])


def test_values_of_many_instructions_take_linear_time(tmp_path: Path) -> None:
    inspected_values = inspected([tensor([1], [1])] * 1000, tmp_path)
    assert len(inspected_values.event_blocks[0].events) == 1000
