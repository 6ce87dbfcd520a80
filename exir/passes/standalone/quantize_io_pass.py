# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Programs with quantized inputs and outputs: the first quantize and the last dequantize move to the caller.

Constant methods of the program return scale, zero point, limits and dtype. The passes run before delegation, because
a delegate contains the quantize and dequantize of its inputs and outputs. The functions also take exported programs
of `torch.export`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypedDict

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx.node import Argument
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.delegate import executorch_call_delegate
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.error import ExportError, operator_name
from executorch.exir.passes.graph_pass import GraphPass
from executorch.exir.rewrite.node_rewrite import insert_before, replace_by
from executorch.exir.scalar_type import to_scalar_type

_INTEGERS = (torch.int8, torch.uint8, torch.int16, torch.uint16, torch.int32)


class GivenParameters(TypedDict, total=False):
    """Quantization parameters that a caller gives for an input: scale, zp and dtype; limits by the dtype if absent."""

    scale: float
    zp: int
    quant_min: int
    quant_max: int
    dtype: torch.dtype


class Manager(Protocol):
    """The part of `EdgeProgramManager` that the passes use: programs, and the values of constant methods."""

    _config_methods: dict[str, object]

    def exported_program(self, method_name: str = "forward") -> ExportedProgram: ...


class QuantizationParameters(NamedTuple):
    """Quantization parameters of an input or output, in the order of the operators' arguments."""

    scale: float
    zp: int
    quant_min: int
    quant_max: int
    dtype: torch.dtype

    def is_as(self, other: QuantizationParameters) -> bool:
        """Return whether equal integers denote (nearly) equal numbers."""
        return math.isclose(self.scale, other.scale, rel_tol=1e-5) and (self.zp, self.dtype) == (other.zp, other.dtype)


def get_config_method_name(
    prefix: str | None = "forward", arg_type: str = "input", index: int = 0, key: str = "scale"
) -> str:
    """Return the name of a parameter's constant method: `forward_input0_scale`, or `input0_scale` without prefix."""
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


def _is(node: fx.Node, name: str) -> bool:
    """Return whether a call is `quantized_decomposed::{name}_per_tensor`, in the ATen or Edge dialect."""
    return node.op == "call_function" and operator_name(node.target) == f"quantized_decomposed::{name}_per_tensor"


def _parameters(node: fx.Node) -> QuantizationParameters:
    return QuantizationParameters(*node.args[1:6])  # type: ignore[arg-type]


def _given(parameters: GivenParameters, placeholder: fx.Node) -> QuantizationParameters:
    missing = [name for name in ("scale", "zp", "dtype") if name not in parameters]
    if missing:
        raise _fault(f"expected scale, zp and dtype of the input; missing: {', '.join(missing)}", placeholder)
    dtype = parameters["dtype"]
    if dtype not in _INTEGERS:
        raise _fault(f"expected one of {', '.join(map(str, _INTEGERS))} for the input, found {dtype}", placeholder)
    limits = torch.iinfo(dtype)
    low, high = parameters.get("quant_min", limits.min), parameters.get("quant_max", limits.max)
    return QuantizationParameters(float(parameters["scale"]), int(parameters["zp"]), low, high, dtype)


def _as_integers(placeholder: fx.Node, dtype: torch.dtype) -> None:
    placeholder.meta["val"] = placeholder.meta["val"].to(dtype)
    placeholder.meta.pop("tensor_meta", None)


def _quantize_placeholder(placeholder: fx.Node, wanted: GivenParameters | None) -> QuantizationParameters:
    given = None if wanted is None else _given(wanted, placeholder)
    users = list(placeholder.users)
    readers = [_parameters(user) for user in users if _is(user, "quantize")]
    if given is not None and not (readers and len(readers) == len(users) and all(map(given.is_as, readers))):
        return _dequantize_inside(placeholder, given)
    if not users or len(readers) < len(users):
        targets = [str(user.target) for user in users]
        why = f"expected quantize_per_tensor as the only reader of the input; found {targets}{_delegation(users)}"
        raise _fault(why, placeholder)
    if any(reader != readers[0] for reader in readers):
        raise _fault("the input is quantized in more than one way", placeholder)
    _as_integers(placeholder, readers[0].dtype)
    for user in users:
        replace_by(user, placeholder)
    return readers[0]


def _dequantize_inside(placeholder: fx.Node, given: QuantizationParameters) -> QuantizationParameters:
    """Make the input quantized and dequantize it, where the graph does not quantize it with the caller's parameters."""
    value, users = placeholder.meta["val"], list(placeholder.users)
    first = placeholder.next
    while first.op == "placeholder":
        first = first.next
    calls = [node.target for node in placeholder.graph.nodes if node.op == "call_function"]
    is_edge = not any(isinstance(target, torch._ops.OpOverload) for target in calls)
    dequantize = (exir_ops.edge if is_edge else torch.ops).quantized_decomposed.dequantize_per_tensor.default
    real = insert_before(first, dequantize, (placeholder, *given), {}, value, placeholder)
    for user in users:
        user.replace_input_with(placeholder, real)
    _as_integers(placeholder, given.dtype)
    return given


def _quantize_result(output: fx.Node, position: int) -> QuantizationParameters:
    results: list[Argument] = list(output.args[0])  # type: ignore[arg-type]
    node = results[position]
    if not isinstance(node, fx.Node) or not _is(node, "dequantize"):
        hint = _delegation(node.all_input_nodes) if isinstance(node, fx.Node) else ""
        raise _fault(f"expected dequantize_per_tensor before the output; found {node}{hint}", output)
    results[position] = node.args[0]
    output.args = (tuple(results),)
    output.meta.pop("val", None)
    parameters = _parameters(node)
    if not node.users:
        node.graph.erase_node(node)
    return parameters


def _delegation(nodes: Sequence[fx.Node]) -> str:
    """Return advice for the message if one of the nodes calls a delegate, else ""."""
    is_delegated = any(node.target is executorch_call_delegate for node in nodes)
    order = "quantize_input, quantize_output of the exported program, then to_edge_transform_and_lower(…)"
    return f". A delegate contains its quantize and dequantize; call {order}" if is_delegated else ""


def quantize_input(
    exported_program: ExportedProgram, input_index: int, qparams: GivenParameters | None = None
) -> QuantizationParameters:
    """Make the user's input a quantized tensor, in place. Return scale, zp, quant_min, quant_max and dtype.

    qparams: None takes the parameters of the quantize that reads the input, and removes it. A mapping has scale, zp and
    dtype, and optionally limits; if the graph does not quantize the input with them, a dequantize is inserted.
    Raises `ExportError`.
    """
    placeholder = _placeholder(exported_program.graph, _input_position(exported_program, input_index))
    parameters = _quantize_placeholder(placeholder, qparams)
    exported_program.graph_module.recompile()
    return parameters


def quantize_output(exported_program: ExportedProgram, output_index: int) -> QuantizationParameters:
    """Make the user's output a quantized tensor, in place: remove its dequantize, and return the parameters of that.

    Raises `ExportError`.
    """
    position = _output_position(exported_program, output_index)
    parameters = _quantize_result(exported_program.graph.output_node(), position)
    spec = exported_program.graph_signature.output_specs[position]
    spec.arg.name = exported_program.graph.output_node().args[0][position].name
    exported_program.graph_module.recompile()
    return parameters


def _placeholder(graph: fx.Graph, position: int) -> fx.Node:
    placeholder: fx.Node = list(graph.find_nodes(op="placeholder"))[position]
    return placeholder


class _QuantizePass(GraphPass):
    """Base of both passes: the program they change, and the manager that gets the parameters.

    Documented scripts continue with the manager that was passed to the constructor, not with the one that `transform`
    returns, so the passes change the former, too.
    """

    kind: str

    def __init__(
        self, manager: Manager | None, method_name: str | None, exported_program: ExportedProgram | None
    ) -> None:
        super().__init__()
        if manager is None and exported_program is None:
            raise _fault("expected an EdgeProgramManager or an exported_program")
        self.edge_program_manager = manager
        self.method_name = method_name
        self._own = exported_program

    @property
    def program(self) -> ExportedProgram:
        """The program whose signature gives the positions of inputs and outputs."""
        if self._own is not None:
            return self._own
        assert self.edge_program_manager is not None  # the constructor takes one of both
        return self.edge_program_manager.exported_program(self.method_name or "forward")

    def edge_manager_update_quant_config_method(self, idx: int, quant_args: Sequence[Any]) -> None:
        """Add the constant methods of an input or output to the manager, if there is one."""
        if self.edge_program_manager is None:
            return
        for key, value in QuantizationParameters(*quant_args)._asdict().items():
            shown = to_scalar_type(value) if isinstance(value, torch.dtype) else value
            name = get_config_method_name(self.method_name, self.kind, idx, key)
            self.edge_program_manager._config_methods[name] = shown

    def _update_all(self, parameters: Mapping[int, QuantizationParameters]) -> None:
        for index, quant_args in parameters.items():
            self.edge_manager_update_quant_config_method(index, quant_args)


class QuantizeInputs(_QuantizePass):
    """Applies `quantize_input` to the inputs of these indices: `manager.transform([QuantizeInputs(manager, [0, 1])])`.

    quantized_inputs_idx: indices, or index → parameters. method_name: None means "forward", without a prefix in the
    names of the constant methods. exported_program: replaces the manager's program; the manager may be None then.
    quant_args: index → parameters, after the pass has run.
    """

    kind = "input"

    def __init__(
        self,
        edge_program_manager: Manager | None,
        quantized_inputs_idx: Mapping[int, GivenParameters | None] | Sequence[int],
        method_name: str | None = None,
        exported_program: ExportedProgram | None = None,
    ) -> None:
        super().__init__(edge_program_manager, method_name, exported_program)
        given = quantized_inputs_idx
        self.wanted = dict(given) if isinstance(given, Mapping) else dict.fromkeys(given)
        self.quant_args: dict[int, QuantizationParameters] = {}

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        program = self.program
        for index, parameters in self.wanted.items():
            placeholder = _placeholder(graph_module.graph, _input_position(program, index))
            self.quant_args[index] = _quantize_placeholder(placeholder, parameters)
            if program.graph_module is not graph_module:
                quantize_input(program, index, parameters)
            self.edge_manager_update_quant_config_method(index, self.quant_args[index])
        return PassResult(graph_module, bool(self.wanted))

    def edge_manager_update_quant_config_methods_all(self) -> None:
        """Add the constant methods of all inputs in `quant_args` to the manager."""
        self._update_all(self.quant_args)


class QuantizeOutputs(_QuantizePass):
    """Applies `quantize_output` to the outputs of these indices. Other arguments: see `QuantizeInputs`.

    dequant_args: index → parameters, after the pass has run.
    """

    kind = "output"

    def __init__(
        self,
        edge_program_manager: Manager | None,
        quantized_outputs_idx_list: Sequence[int],
        method_name: str | None = None,
        exported_program: ExportedProgram | None = None,
    ) -> None:
        super().__init__(edge_program_manager, method_name, exported_program)
        self.wanted = list(quantized_outputs_idx_list)
        self.dequant_args: dict[int, QuantizationParameters] = {}

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        output, program = graph_module.graph.output_node(), self.program
        for index in self.wanted:
            self.dequant_args[index] = _quantize_result(output, _output_position(program, index))
            if program.graph_module is not graph_module:
                quantize_output(program, index)
            self.edge_manager_update_quant_config_method(index, self.dequant_args[index])
        return PassResult(graph_module, bool(self.wanted))

    def edge_manager_update_quant_config_methods_all(self) -> None:
        """Add the constant methods of all outputs in `dequant_args` to the manager."""
        self._update_all(self.dequant_args)


def extract_io_quant_params(
    edge_prog: Manager, *, input_idxs: Sequence[int] = (0,), output_idxs: Sequence[int] = (0,)
) -> dict[str, dict[str, dict[str, object]]]:
    """Make inputs and outputs of "forward" quantized tensors, and return their parameters by the nodes' names.

    The program changes as by `QuantizeInputs` and `QuantizeOutputs`; to keep it, copy.deepcopy the manager first.
    Result: {"inputs": {name: parameters}, "outputs": {…}}, with scale, zero_point, quant_min, quant_max and dtype (a
    `ScalarType`). Inputs and outputs that are not quantized per tensor stay, and the result omits them.
    """
    program: ExportedProgram = edge_prog.exported_program()
    extracted: dict[str, dict[str, dict[str, object]]] = {"inputs": {}, "outputs": {}}
    for index in input_idxs:
        node = _placeholder(program.graph, _input_position(program, index))
        if node.users and all(_is(user, "quantize") for user in node.users):
            parameters = quantize_input(program, index)
            QuantizeInputs(edge_prog, [index]).edge_manager_update_quant_config_method(index, parameters)
            extracted["inputs"][node.name] = _described(parameters)
    for index in output_idxs:
        results: Any = program.graph.output_node().args[0]
        output = results[_output_position(program, index)]
        if isinstance(output, fx.Node) and _is(output, "dequantize"):
            source: Any = output.args[0]
            parameters = quantize_output(program, index)
            QuantizeOutputs(edge_prog, [index]).edge_manager_update_quant_config_method(index, parameters)
            extracted["outputs"][source.name] = _described(parameters)
    return extracted


def _described(parameters: QuantizationParameters) -> dict[str, object]:
    scale, zero_point, low, high, dtype = parameters
    limits = {"quant_min": low, "quant_max": high}
    return {"scale": scale, "zero_point": zero_point, **limits, "dtype": to_scalar_type(dtype)}


__all__ = [
    "QuantizationParameters",
    "QuantizeInputs",
    "QuantizeOutputs",
    "extract_io_quant_params",
    "get_config_method_name",
    "quantize_input",
    "quantize_output",
]
