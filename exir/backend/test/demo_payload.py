# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The payload of the executable demo backend: lines of text, then the constants' bytes.

    demo 1
    value <id> <sizes, joined by x; "scalar" for rank 0>     one line for each value, ids counting from 0
    constant <id> <offset> <bytes>                           where in the data the value is
    shared <id> <name>                                       the named data that the value is
    input <id>                                               in the order of the call
    op <name> <result id> <operand ids, joined by commas> <alpha>
    output <id>
    update <id of a constant> <result id>                    after an execution, the constant has that value
    data <bytes>
    <that many bytes of little-endian float32>

Sizes are upper bounds; all tensors are contiguous float32. The C++ side of it is `test/backends/demo_backend.cpp`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import Node

from executorch.exir.format.named_data import NamedDataStore

__all__ = ["encode", "operator_of"]


def operator_of(node: Node) -> str:
    """`aten.add.Tensor`, whether the node calls torch's operator or the edge dialect's."""
    return str(node.target if isinstance(node.target, OpOverload) else getattr(node.target, "_op", node.target))


def encode(
    program: ExportedProgram, names: dict[str, str], backend_id: str, shared: NamedDataStore | None = None
) -> bytes:
    """Encode `program`, whose operators `names` maps to the payload's names.

    shared: takes the constants, under their names in the model, but for buffers that the program updates; without it
    they are in the payload.
    RuntimeError: an operator or kind of value that the backend does not have.
    """
    return _Encoder(program, names, backend_id, shared).encode()


class _Encoder:
    def __init__(
        self, program: ExportedProgram, names: dict[str, str], backend_id: str, shared: NamedDataStore | None
    ) -> None:
        self._program = program
        self._shared = shared
        self._names = names
        self._backend_id = backend_id
        self._values: dict[Node, int] = {}
        self._sizes: list[str] = []
        self._lines: list[str] = []
        self._data = bytearray()

    def encode(self) -> bytes:
        for node in self._program.graph.nodes:
            if node.op == "placeholder":
                self._placeholder(node)
            elif node.op == "call_function":
                self._operator(node)
            elif node.op == "output":
                self._outputs(node)
            else:
                raise self._refusal(f"{node.op} {node.name}")
        values = [f"value {number} {sizes}" for number, sizes in enumerate(self._sizes)]
        text = "\n".join(["demo 1", *values, *self._lines, f"data {len(self._data)}"]) + "\n"
        return text.encode() + bytes(self._data)

    def _placeholder(self, node: Node) -> None:
        spec = next(s for s in self._program.graph_signature.input_specs if s.arg.name == node.name)
        number = self._new_value(node, node.meta["val"])
        if spec.kind is InputKind.USER_INPUT:
            self._lines.append(f"input {number}")
            return
        target = str(spec.target)
        tables = (self._program.state_dict, self._program.constants)
        tensor = next(table[target] for table in tables if target in table)
        if self._shared is None or target in self._updated():
            self._constant(number, tensor)
        else:
            self._shared.add_named_data(target, _bytes_of(tensor))
            self._lines.append(f"shared {number} {target}")

    def _updated(self) -> dict[str, str]:
        """Buffer → name of the value it gets."""
        outputs = self._program.graph_signature.output_specs
        return {str(spec.target): spec.arg.name for spec in outputs if spec.kind is OutputKind.BUFFER_MUTATION}

    def _outputs(self, node: Node) -> None:
        buffers = {
            str(spec.target): number
            for placeholder, number in self._values.items()
            for spec in self._program.graph_signature.input_specs
            if spec.arg.name == placeholder.name
        }
        updates = []
        values: Any = node.args[0]
        for value, spec in zip(values, self._program.graph_signature.output_specs, strict=True):
            if spec.kind is OutputKind.USER_OUTPUT:
                self._lines.append(f"output {self._values[value]}")
            elif spec.kind is OutputKind.BUFFER_MUTATION and value.op == "call_function":
                updates.append(f"update {buffers[str(spec.target)]} {self._values[value]}")
            else:
                raise self._refusal(f"output {spec.arg.name} of kind {spec.kind.name}")
        self._lines += updates

    def _operator(self, node: Node) -> None:
        name = self._names.get(operator_of(node))
        if name is None:
            raise self._refusal(f"{node.op} {operator_of(node)}")
        # Lists and flags parametrize only operators that the runtime refuses anyway.
        operands = [
            self._operand(a) for a in node.args if isinstance(a, (Node, int, float)) and not isinstance(a, bool)
        ]
        alpha: Any = node.kwargs.get("alpha", 1.0)
        self._lines.append(f"op {name} {self._new_value(node, node.meta['val'])} {','.join(operands)} {float(alpha)!r}")

    def _operand(self, argument: Any) -> str:
        if isinstance(argument, Node):
            return str(self._values[argument])
        number = self._new_value(None, torch.empty(()))
        self._constant(number, torch.tensor(float(argument)))
        return str(number)

    def _constant(self, number: int, tensor: torch.Tensor) -> None:
        data = _bytes_of(tensor)
        self._lines.append(f"constant {number} {len(self._data)} {len(data)}")
        self._data += data

    def _new_value(self, node: Node | None, value: object) -> int:
        if not isinstance(value, torch.Tensor) or value.dtype is not torch.float32:
            raise self._refusal(
                f"{node}: a value of {getattr(value, 'dtype', type(value).__name__)}, not a float32 tensor"
            )
        if tuple(value.dim_order()) != tuple(range(value.dim())):
            raise self._refusal(f"{node}: a value of dim order {list(value.dim_order())}, not a contiguous one,")
        self._sizes.append("x".join(str(size) for size in _upper_bounds(value.shape)) or "scalar")
        if node is not None:
            self._values[node] = len(self._sizes) - 1
        return len(self._sizes) - 1

    def _refusal(self, what: str) -> RuntimeError:
        return RuntimeError(f"{what} is not supported in backend {self._backend_id}")


def _bytes_of(tensor: torch.Tensor) -> bytes:
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def _upper_bounds(sizes: Iterable[int | torch.SymInt]) -> list[int]:
    bounds = []
    for size in sizes:
        if isinstance(size, torch.SymInt):
            upper = size.node.shape_env.bound_sympy(size.node.expr).upper
            bounds.append(int(upper))
        else:
            bounds.append(size)
    return bounds
