# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Programs that take and give quantized tensors: the first quantize and the last dequantize move to the caller.

What the caller needs to know (scale, zero point, limits, dtype) becomes constant methods of the program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.error import ExportError
from executorch.exir.passes.node_rewrite import insert_before, replace_by
from executorch.exir.scalar_type import to_scalar_type

_QUANTIZE = exir_ops.edge.quantized_decomposed.quantize_per_tensor.default
_DEQUANTIZE = exir_ops.edge.quantized_decomposed.dequantize_per_tensor.default
# Parameters after the tensor, in the order in which both operators take them.
_KEYS = ("scale", "zp", "quant_min", "quant_max", "dtype")


def get_config_method_name(
    prefix: str | None = "forward", arg_type: str = "input", index: int = 0, key: str = "scale"
) -> str:
    """Name of the constant method with a parameter: `forward_input0_scale`, or `input0_scale` without prefix."""
    return f"{prefix}_{arg_type}{index}_{key}" if prefix else f"{arg_type}{index}_{key}"


def _fault(why: str, node: fx.Node | None = None) -> ExportError:
    return ExportError("quantize inputs and outputs", node, why)


def _input_position(program: ExportedProgram, index: int) -> int:
    specs = program.graph_signature.input_specs
    positions = [place for place, spec in enumerate(specs) if spec.kind is InputKind.USER_INPUT]
    if not 0 <= index < len(positions):
        raise _fault(f"input {index} does not exist: the program has {len(positions)} inputs")
    return positions[index]


def _output_position(program: ExportedProgram, index: int) -> int:
    specs = program.graph_signature.output_specs
    positions = [place for place, spec in enumerate(specs) if spec.kind is OutputKind.USER_OUTPUT]
    if not 0 <= index < len(positions):
        raise _fault(f"output {index} does not exist: the program has {len(positions)} outputs")
    return positions[index]


def _parameters(node: fx.Node) -> dict[str, Any]:
    return dict(zip(_KEYS, node.args[1:6], strict=True))


def _as_integers(placeholder: fx.Node, dtype: torch.dtype) -> None:
    placeholder.meta["val"] = placeholder.meta["val"].to(dtype)
    placeholder.meta.pop("tensor_meta", None)


def _quantize_placeholder(placeholder: fx.Node, given: Mapping[str, Any] | None) -> dict[str, Any]:
    if given is not None:
        return _dequantize_inside(placeholder, given)
    users = list(placeholder.users)
    if not users or any(user.target != _QUANTIZE for user in users):
        found = [str(user.target) for user in users]
        raise _fault(f"expected quantize_per_tensor as the only reader of the input; found {found}", placeholder)
    parameters = _parameters(users[0])
    if any(_parameters(user) != parameters for user in users):
        raise _fault("the input is quantized in more than one way", placeholder)
    _as_integers(placeholder, parameters["dtype"])
    for user in users:
        replace_by(user, placeholder)
    return parameters


def _dequantize_inside(placeholder: fx.Node, given: Mapping[str, Any]) -> dict[str, Any]:
    """Takes integers with the caller's parameters where nothing quantizes the input yet."""
    dtype = given["dtype"]
    limits = torch.iinfo(dtype)
    parameters = {
        "scale": float(given["scale"]),
        "zp": int(given["zp"]),
        "quant_min": given.get("quant_min", limits.min),
        "quant_max": given.get("quant_max", limits.max),
        "dtype": dtype,
    }
    value, users = placeholder.meta["val"], list(placeholder.users)
    first = placeholder.next
    while first.op == "placeholder":
        first = first.next
    real = insert_before(first, _DEQUANTIZE, (placeholder, *parameters.values()), {}, value, placeholder)
    for user in users:
        user.replace_input_with(placeholder, real)
    _as_integers(placeholder, dtype)
    return parameters


def _quantize_result(output: fx.Node, position: int) -> dict[str, Any]:
    results: list[Any] = list(output.args[0])  # type: ignore[arg-type]
    node = results[position]
    if not isinstance(node, fx.Node) or node.target != _DEQUANTIZE:
        raise _fault(f"expected dequantize_per_tensor as what makes the output; found {node}", output)
    results[position] = node.args[0]
    output.args = (tuple(results),)
    output.meta.pop("val", None)
    if not node.users:
        node.graph.erase_node(node)
    return _parameters(node)


def quantize_input(
    exported_program: ExportedProgram, input_index: int, qparams: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Makes the user's input a quantized tensor, in place; returns scale, zp, quant_min, quant_max and dtype.

    qparams: None: those of the quantize that reads it, which is removed; else scale, zp, dtype (and limits), for an
    input that nothing quantizes: it is dequantized first. Raises `ExportError`.
    """
    placeholder = _placeholder(exported_program.graph, _input_position(exported_program, input_index))
    return _quantize_placeholder(placeholder, qparams)


def quantize_output(exported_program: ExportedProgram, output_index: int) -> dict[str, Any]:
    """Makes the user's output a quantized tensor, in place: the dequantize that makes it is removed, its parameters
    are returned. Raises `ExportError`.
    """
    position = _output_position(exported_program, output_index)
    found = _quantize_result(exported_program.graph.output_node(), position)
    spec = exported_program.graph_signature.output_specs[position]
    spec.arg.name = exported_program.graph.output_node().args[0][position].name
    return found


def _placeholder(graph: fx.Graph, position: int) -> fx.Node:
    found: fx.Node = list(graph.find_nodes(op="placeholder"))[position]
    return found


class _QuantizePass(PassBase):
    """What both passes share: whose signature counts, and where the parameters go."""

    kind: str

    def __init__(self, manager: Any, method_name: str | None, exported_program: ExportedProgram | None) -> None:
        self.edge_program_manager = manager
        self.method_name = method_name
        self._given = exported_program

    @property
    def program(self) -> ExportedProgram:
        """The program whose inputs and outputs are counted."""
        if self._given is not None:
            return self._given
        found: ExportedProgram = self.edge_program_manager.exported_program(self.method_name or "forward")
        return found

    def publish(self, index: int, parameters: Mapping[str, Any]) -> None:
        """Adds the constant methods, to the manager that the pass was made for."""
        for key, value in parameters.items():
            shown = to_scalar_type(value) if isinstance(value, torch.dtype) else value
            name = get_config_method_name(self.method_name, self.kind, index, key)
            self.edge_program_manager._config_methods[name] = shown


class QuantizeInputs(_QuantizePass):
    """`quantize_input` for the inputs of these numbers: `manager.transform([QuantizeInputs(manager, [0, 1])])`.

    quantized_inputs_idx: numbers, or number → parameters. method_name: None: "forward", and no prefix in the names of
    the constant methods. exported_program: instead of the manager's.
    """

    kind = "input"

    def __init__(
        self,
        edge_program_manager: Any,
        quantized_inputs_idx: Mapping[int, Mapping[str, Any]] | Sequence[int],
        method_name: str | None = None,
        exported_program: ExportedProgram | None = None,
    ) -> None:
        super().__init__(edge_program_manager, method_name, exported_program)
        given = quantized_inputs_idx
        self.wanted = dict(given) if isinstance(given, Mapping) else dict.fromkeys(given)

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        for index, parameters in self.wanted.items():
            placeholder = _placeholder(graph_module.graph, _input_position(self.program, index))
            self.publish(index, _quantize_placeholder(placeholder, parameters))
        return PassResult(graph_module, bool(self.wanted))


class QuantizeOutputs(_QuantizePass):
    """`quantize_output` for the outputs of these numbers; the arguments are as those of `QuantizeInputs`."""

    kind = "output"

    def __init__(
        self,
        edge_program_manager: Any,
        quantized_outputs_idx_list: Sequence[int],
        method_name: str | None = None,
        exported_program: ExportedProgram | None = None,
    ) -> None:
        super().__init__(edge_program_manager, method_name, exported_program)
        self.wanted = list(quantized_outputs_idx_list)

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        output = graph_module.graph.output_node()
        for index in self.wanted:
            self.publish(index, _quantize_result(output, _output_position(self.program, index)))
        return PassResult(graph_module, bool(self.wanted))


def extract_io_quant_params(
    edge_prog: Any, *, input_idxs: Sequence[int] = (0,), output_idxs: Sequence[int] = (0,)
) -> dict[str, dict[str, dict[str, Any]]]:
    """How the method "forward" quantizes inputs and outputs, by the nodes' names; nothing changes.

    {"inputs": {name: parameters}, "outputs": {…}}, with scale, zero_point, quant_min, quant_max and dtype (a
    `ScalarType`). Inputs and outputs that are not quantized per tensor are left out.
    """
    program: ExportedProgram = edge_prog.exported_program()
    found: dict[str, dict[str, dict[str, Any]]] = {"inputs": {}, "outputs": {}}
    for index in input_idxs:
        node = _placeholder(program.graph, _input_position(program, index))
        readers = [user for user in node.users if user.target == _QUANTIZE]
        if readers:
            found["inputs"][node.name] = _described(readers[0])
    for index in output_idxs:
        results: Any = program.graph.output_node().args[0]
        made = results[_output_position(program, index)]
        if isinstance(made, fx.Node) and made.target == _DEQUANTIZE:
            source: Any = made.args[0]
            found["outputs"][source.name] = _described(made)
    return found


def _described(node: fx.Node) -> dict[str, Any]:
    parameters = _parameters(node)
    dtype = to_scalar_type(parameters.pop("dtype"))
    return {"scale": parameters.pop("scale"), "zero_point": parameters.pop("zp"), **parameters, "dtype": dtype}


__all__ = [
    "QuantizeInputs",
    "QuantizeOutputs",
    "extract_io_quant_params",
    "get_config_method_name",
    "quantize_input",
    "quantize_output",
]
