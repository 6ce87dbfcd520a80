# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Runs a `.pte` program with torch's own operators on the memory that the program plans.

It shares no code with the runtime, and its arenas start filled with garbage: a plan in which two live tensors share
bytes, or an instruction with a wrong argument, gives wrong results.
"""

import math
import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch

from executorch.exir import schema as s
from executorch.exir.scalar_type import to_dtype
from executorch.exir.serialize import PteFile, deserialize_pte
from executorch.exir.tensor import stride_from_dim_order

_GARBAGE = 0xCD
_MAX_INSTRUCTIONS = 1_000_000

_PRIMS: dict[str, Callable[..., Any]] = {
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "floordiv", "truediv", "mod", "neg")},
    **{name: getattr(operator, name) for name in ("eq", "lt", "le", "gt", "ge")},
    "ceil": math.ceil,
    "round": round,
    "trunc": math.trunc,
    "sym_float": float,
    "sym_max": max,
    "sym_min": min,
}
_FORMATS = {0: torch.contiguous_format, 1: torch.preserve_format, 2: torch.channels_last}


class Method:
    """One method of a program. `zeroed`: mutable buffers without initial values rely on zeroed memory."""

    def __init__(self, program: bytes, name: str = "forward", zeroed: bool = False) -> None:
        self.file: PteFile = deserialize_pte(program)
        self.plan = next(plan for plan in self.file.program.execution_plan if plan.name == name)
        fill = 0 if zeroed else _GARBAGE
        sizes = self.plan.non_const_buffer_sizes
        self.arenas = [torch.full((size,), fill, dtype=torch.uint8) for size in sizes]
        self.values = [self._value(value.val) for value in self.plan.values]

    def __call__(self, *inputs: Any) -> list[Any]:
        for index, value in zip(self.plan.inputs, inputs, strict=True):
            if isinstance(value, torch.Tensor):
                self._sized(index, value.shape).copy_(value)
            else:
                self.values[index] = value
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Torch warns when an out argument is resized, as dynamic shapes require.
            self._run()
        outputs = [self.values[index] for index in self.plan.outputs]
        return [output.clone() if isinstance(output, torch.Tensor) else output for output in outputs]

    def _run(self) -> None:
        instructions, counter = self.plan.chains[0].instructions, 0
        for _ in range(_MAX_INSTRUCTIONS):
            if counter == len(instructions):
                return
            call = instructions[counter].instr_args
            counter += 1
            if isinstance(call, s.KernelCall):
                self._kernel(self.plan.operators[call.op_index], call.args)
            elif isinstance(call, s.MoveCall):
                self.values[call.move_to] = self.values[call.move_from]
            elif isinstance(call, s.JumpFalseCall) and not bool(self.values[call.cond_value_index]):
                counter = call.destination_instruction
        raise RuntimeError("the program does not end")

    def _value(self, value: s.KernelTypes) -> Any:
        if isinstance(value, s.Tensor):
            return self._tensor(value)
        if isinstance(value, (s.Int, s.Bool, s.Double, s.String)):
            return getattr(value, value.__slots__[0])
        return None if isinstance(value, s.Null) else value

    def _tensor(self, value: s.Tensor) -> torch.Tensor:
        dtype = to_dtype(value.scalar_type)
        nbytes = math.prod(value.sizes) * dtype.itemsize
        place = value.allocation_info
        if place is not None:
            memory = self.arenas[place.memory_id][place.memory_offset : place.memory_offset + nbytes]
            assert len(memory) == nbytes, "a planned tensor lies outside of its arena"
            if value.data_buffer_idx:
                assert self.file.mutable_data is not None
                memory.copy_(_bytes(self.file.mutable_data[value.data_buffer_idx]))
        elif value.data_buffer_idx:
            memory = _bytes(self.file.program.constant_buffer[value.data_buffer_idx])
        else:
            memory = torch.full((nbytes,), _GARBAGE, dtype=torch.uint8)
        strides = stride_from_dim_order(value.sizes, value.dim_order)
        return memory.view(dtype).as_strided(value.sizes, strides)

    def _argument(self, index: int) -> Any:
        value = self.values[index]
        if isinstance(value, (s.IntList, s.TensorList)):
            return [self.values[item] for item in value.items]
        if isinstance(value, s.OptionalTensorList):
            return [None if item < 0 else self.values[item] for item in value.items]
        return value.items if isinstance(value, (s.DoubleList, s.BoolList)) else value

    def _kernel(self, op: s.Operator, args: Sequence[int]) -> None:
        namespace, name = op.name.split("::")
        if namespace == "executorch_prim" and name in _PRIMS:
            self.values[args[-1]] = _PRIMS[name](*(self._argument(index) for index in args[:-1]))
        elif name == "et_view":
            base, size = self._argument(args[0]), self._argument(args[1])
            self.values[args[2]] = base.view(size)
        elif name == "et_copy_index":
            target, source, index = (self._argument(argument) for argument in args)
            self.values[args[0]] = target.as_strided((index + 1, *source.shape), target.stride())
            self.values[args[0]][index].copy_(source)
        elif namespace == "dim_order_ops":
            source, out = self._argument(args[0]), args[-1]
            self._sized(out, source.shape).copy_(source)
        elif op.name == "aten::sym_size":
            self.values[args[-1]] = self._argument(args[0]).shape[self._argument(args[1])]
        else:
            self._aten(getattr(getattr(getattr(torch.ops, namespace), name), op.overload or "default"), args)

    def _aten(self, overload: Any, args: Sequence[int]) -> None:
        """Check that the arguments are the schema's, followed by the outputs again, and call torch's out variant."""
        schema = overload._schema.arguments
        assert len(args) == len(schema) + 1, f"{overload}: {len(args)} arguments for a schema of {len(schema)}"
        given = {entry.name: self._argument(index) for entry, index in zip(schema, args[: len(schema)], strict=True)}
        if "memory_format" in given and given["memory_format"] is not None:
            given["memory_format"] = _FORMATS[given["memory_format"]]
        if isinstance(given.get("dtype"), int):
            given["dtype"] = to_dtype(s.ScalarType(given["dtype"]))
        outs = [(entry.name, index) for entry, index in zip(schema, args[: len(schema)], strict=True) if entry.is_out]
        before = {name: _addresses(given[name]) for name, _ in outs}
        starts = {address for addresses in before.values() for address in addresses}
        for name, value in given.items():
            # Torch rejects an output that aliases an operand of other sizes; the runtime's kernels resize it first.
            if name not in before and isinstance(value, torch.Tensor) and value.data_ptr() in starts:
                given[name] = value.clone(memory_format=torch.preserve_format)
        positional = [given[parameter.name] for parameter in schema if not parameter.kwarg_only]
        overload(*positional, **{parameter.name: given[parameter.name] for parameter in schema if parameter.kwarg_only})
        for name, _ in outs:
            assert _addresses(given[name]) == before[name], f"{overload}: output {name} had to be reallocated"

    def _sized(self, index: int, sizes: Sequence[int]) -> torch.Tensor:
        tensor: torch.Tensor = self.values[index]
        if list(tensor.shape) != list(sizes):
            self.values[index] = tensor = tensor.resize_(list(sizes))
        return tensor


def _addresses(value: Any) -> list[int]:
    return [tensor.data_ptr() for tensor in (value if isinstance(value, list) else [value])]


def _bytes(buffer: s.Buffer) -> torch.Tensor:
    data = bytearray(buffer.storage)
    return torch.frombuffer(data, dtype=torch.uint8) if data else torch.empty(0, dtype=torch.uint8)
