# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Emit one graph: for each node its instructions and values."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._ops import HigherOrderOperator
from torch.fx import GraphModule, Node
from torch.fx.node import Argument, Target, map_aggregate
from torch.utils._pytree import tree_leaves

from executorch.exir import memory
from executorch.exir.delegate import executorch_call_delegate
from executorch.exir.emit.arguments import argument
from executorch.exir.emit.control_flow import emit_control_flow
from executorch.exir.emit.delegates import emit_delegate
from executorch.exir.emit.state import MethodState, Ref
from executorch.exir.emit.tensors import constant_tensor, is_planned, tensor_value
from executorch.exir.error import ExportError
from executorch.exir.memory.lifetimes.specs import out_arguments
from executorch.exir.operator.convert import is_written_argument
from executorch.exir.schema import Bool, Double, FreeCall, Int, KernelTypes, TensorList
from executorch.exir.tensor import TensorSpec

_VIEW_OPERATOR = ("executorch_prim::et_view", "default")


class GraphEmitter:
    """Emits the nodes of a graph. `env`: node → its result: a Ref, a list or tuple of Refs, or a Python value."""

    def __init__(self, state: MethodState, graph_module: GraphModule, is_outermost: bool = False) -> None:
        self.state = state
        self.is_outermost = is_outermost
        self.graph_module = graph_module
        self.env: dict[Node, object] = {}

    def run(self, inputs: Sequence[object]) -> list[object]:
        """Emit the graph with its placeholders bound to `inputs`. Return the flat list of its outputs.

        An input that is None gets a new value. Raises ExportError with the node that cannot be emitted.
        """
        waiting = list(inputs)
        for node in self.graph_module.graph.nodes:
            try:
                if node.op == "placeholder":
                    value = waiting.pop(0)
                    self.env[node] = self.spec_values(node) if value is None else value
                elif node.op == "output":
                    return tree_leaves(self.bound(node.args[0]), is_leaf=lambda leaf: leaf is None)
                else:
                    self.env[node] = self.node(node)
                    if self.is_outermost:
                        self.state.end_task()
            except (ValueError, IndexError, KeyError, AttributeError, TypeError) as error:
                raise ExportError("emit", node, f"{type(error).__name__}: {error}") from error
        raise ExportError("emit", None, "a graph has no output node")

    def bound(self, arguments: Argument) -> Any:
        """Replace every node in arguments by its result."""

        def bound(leaf: Any) -> Any:
            return self.env[leaf] if isinstance(leaf, Node) else leaf

        return map_aggregate(arguments, bound)

    def node(self, node: Node) -> object:
        """Emit the instructions of a node; return its result. Raises ExportError for a node of an unknown kind."""
        if node.op == "get_attr":
            return self.attribute(node)
        if node.op != "call_function":
            raise ExportError("emit", node, f"expected a call_function, found a node of kind {node.op}")
        handler = _HANDLERS.get(node.target)
        if handler is not None:
            return handler(self, node)
        if isinstance(node.target, HigherOrderOperator):
            return emit_control_flow(self, node)
        if getattr(node.target, "_schema", None) is not None:
            return self.operator(node)
        raise ExportError("emit", node, f"{node.target} is not an operator")

    def spec_values(self, node: Node) -> object:
        """Return new values for all results of a node, in the structure of its spec."""

        def value(spec: object, fake: object) -> object:
            if isinstance(spec, TensorSpec):
                return tensor_value(self.state, spec)
            if isinstance(spec, (list, tuple)):
                fakes = fake if isinstance(fake, (list, tuple)) else [fake]
                return [value(*pair) for pair in zip(spec, fakes, strict=True)]
            return None if fake is None else self.state.fresh(blank(fake))

        return value(node.meta.get("spec"), node.meta.get("val"))

    def attribute(self, node: Node) -> object:
        """Return the value of a get_attr node: a tensor as a constant of the method, another attribute as it is."""
        attribute: object = self.graph_module
        for name in str(node.target).split("."):
            attribute = getattr(attribute, name)
        if not isinstance(attribute, torch.Tensor):
            return attribute
        spec = node.meta.get("spec")
        return constant_tensor(self.state, attribute, spec if isinstance(spec, TensorSpec) else None)

    def operator(self, node: Node) -> object:
        """Emit a kernel call: arguments by the schema, then the written ones again (kernels return their outputs).

        Raises ExportError if an argument without a default is missing.
        """
        schema = node.target._schema  # type: ignore[union-attr]
        given = self.bound(node.args)
        named = self.bound(node.kwargs)
        values: dict[str, object] = {}
        for position, parameter in enumerate(schema.arguments):
            if parameter.name in named:
                values[parameter.name] = named[parameter.name]
            elif position < len(given) and not parameter.kwarg_only:
                values[parameter.name] = given[position]
            elif parameter.has_default_value():
                values[parameter.name] = parameter.default_value
            else:
                raise ExportError("emit", node, f"argument {parameter.name!r} of {schema.name} is missing")
        refs = [argument(self.state, values[arg.name], arg.type) for arg in schema.arguments]
        result = self.result(node, schema, values)
        index = self.state.call(schema.name, schema.overload_name, [*refs, *self._returned(result)], node)
        self.note_debug_handle(node, index)
        return result

    def result(self, node: Node, schema: torch.FunctionSchema, values: dict[str, object]) -> object:
        """Return the result of a call: its out arguments, the argument it writes to, or new values."""
        outs = [values[name] for name in out_arguments(node)]
        if outs:
            return outs[0] if len(outs) == 1 else outs
        written = [arg.name for arg in schema.arguments if is_written_argument(arg)]
        if len(written) == 1 and len(schema.returns) == 1:
            return values[written[0]]
        return self.spec_values(node)

    def _returned(self, result: object) -> list[Ref]:
        if isinstance(result, (list, tuple)):
            return [self.state.constant(TensorList([ref.id for ref in result if isinstance(ref, Ref)]))]
        return [result] if isinstance(result, Ref) else []

    def note_debug_handle(self, node: Node, instruction: int) -> None:
        """Set the instruction's index, which the runtime logs, as the node's debug handle."""
        handle = node.meta.get("debug_handle")
        if handle is not None:
            self.state.debug_handles[instruction] = handle
            node.meta["debug_handle"] = instruction


def blank(fake: object) -> KernelTypes:
    """Return a value of the type of a symbolic scalar, which an instruction writes.

    Raises ValueError for anything but a boolean, integer or float.
    """
    if isinstance(fake, (bool, torch.SymBool)):
        return Bool(False)
    if isinstance(fake, (float, torch.SymFloat)):
        return Double(0.0)
    if isinstance(fake, (int, torch.SymInt)):
        return Int(0)
    raise ValueError(f"a result of type {type(fake).__name__} has no value in a program")


def _item(emitter: GraphEmitter, node: Node) -> object:
    source, index = emitter.bound(node.args)
    return source[index]


def _alloc(emitter: GraphEmitter, node: Node) -> object:
    return emitter.spec_values(node)


def _free(emitter: GraphEmitter, node: Node) -> None:
    tensor = node.args[0]
    spec = tensor.meta.get("spec") if isinstance(tensor, Node) else None
    if not isinstance(spec, TensorSpec):
        raise ValueError(f"expected a tensor; found {tensor!r}")
    emitter.state.add(FreeCall(emitter.state.spec_values[spec].id), node)


def _view(emitter: GraphEmitter, node: Node) -> Ref:
    """Emit a view. A planned view needs no instruction; any other is bound to its base's memory at run time."""
    state, spec = emitter.state, node.meta["spec"]
    if spec.is_static_shape_tensor and (is_planned(spec) or spec.const):
        return tensor_value(state, spec)
    if getattr(spec, "byte_offset", 0):
        raise ValueError(
            "a view with an offset into its base needs a planned base; the memory of this base is bound at run time"
        )
    base, size = emitter.bound(node.args)
    out = tensor_value(state, spec)
    size_type = torch.ListType.ofInts()
    state.call(*_VIEW_OPERATOR, [argument(state, base), argument(state, size, size_type), out], node)
    return out


def _delegate(emitter: GraphEmitter, node: Node) -> object:
    lowered, *inputs = emitter.bound(node.args)
    outputs = emitter.spec_values(node)
    emit_delegate(emitter.state, lowered, inputs, tree_leaves(outputs), node)
    return outputs


_HANDLERS: dict[Target, Callable[[GraphEmitter, Node], object]] = {
    operator.getitem: _item,
    memory.alloc: _alloc,
    memory.free: _free,
    memory.view: _view,
    executorch_call_delegate: _delegate,
}
