# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The base of users' passes: a pass interprets a graph node by node and builds a new one from what its hooks return.

Each hook receives `ProxyValue`s (a fake tensor or symbol, with the node of the new graph that makes it) and may emit
any number of operators through `super()`. New nodes inherit the metadata of the node that is being interpreted, and get
their own `val`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Union

import torch
from torch import fx
from torch._ops import OpOverload, OpOverloadPacket
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.export import ExportedProgram
from torch.fx.node import Target
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from torch.utils import _pytree as pytree

from executorch.exir import memory
from executorch.exir.delegate import executorch_call_delegate
from executorch.exir.dialects._ops import EdgeOpOverload
from executorch.exir.dialects.executorch_prim_ops import PRIM_OF_PYTHON_FUNCTION
from executorch.exir.rewrite.fake_call import call_on_fakes
from executorch.exir.rewrite.proxy_value import ExportPassBaseError as ExportPassBaseError
from executorch.exir.rewrite.proxy_value import ProxyValue as ProxyValue

Argument = Any
Fn = Callable[..., Any]
PassType = Union["ExportedProgramPassBase", Callable[[fx.GraphModule], PassResult | None]]

PROTECTED_KEYS = frozenset({"val", "stack_trace", "nn_module_stack", "debug_handle", "tensor_meta"})

_MEMORY_FUNCTIONS = (memory.alloc, memory.view, memory.free)


class NodeMetadata:
    """Metadata of the node that is being interpreted. The keys in `PROTECTED_KEYS` cannot be overwritten."""

    def __init__(self, data: dict[str, object]) -> None:
        self.data = dict(data)

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    def __setitem__(self, key: str, value: object) -> None:
        if key in PROTECTED_KEYS:
            raise RuntimeError(f"metadata '{key}' belongs to the compiler: a pass must not overwrite it")
        self.data[key] = value

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def copy(self) -> NodeMetadata:
        """Return a shallow copy."""
        return NodeMetadata(self.data)


@dataclass(frozen=True)
class ArgSchema:
    """Name and schema type of one argument of an operator. kwarg_only: calls give it by name."""

    name: str
    type: Any
    kwarg_only: bool


def map_args(
    op: OpOverload | EdgeOpOverload,
    fn: Callable[[object, ArgSchema], object],
    args: tuple[object, ...],
    kwargs: dict[str, object],
) -> tuple[tuple[object, ...], dict[str, object]]:
    """Apply `fn(value, schema)` to every argument of an operator call. Return the new (args, kwargs)."""
    schema = {item.name: ArgSchema(item.name, item.type, item.kwarg_only) for item in op._schema.arguments}
    ordered = list(schema.values())
    new_args = tuple(fn(value, ordered[index]) for index, value in enumerate(args))
    return new_args, {name: fn(value, schema[name]) for name, value in kwargs.items()}


@dataclass(frozen=True)
class ExportedProgramPassResult:
    """Result of a pass over a whole program."""

    exported_program: ExportedProgram
    modified: bool


class ExportedProgramPassBase(ABC):
    """A pass that needs more than the graph: weights, signature, constants."""

    def __call__(self, exported_program: ExportedProgram) -> ExportedProgramPassResult:
        self.requires(exported_program)
        result = self.call(exported_program)
        self.ensures(result.exported_program)
        return result

    @abstractmethod
    def call(self, exported_program: ExportedProgram) -> ExportedProgramPassResult:
        """Transform the program."""

    def requires(self, exported_program: ExportedProgram) -> None:  # noqa: B027
        """Check the program before the pass; override to raise."""

    def ensures(self, exported_program: ExportedProgram) -> None:  # noqa: B027
        """Check the program after the pass; override to raise."""


def _symbols(value: object) -> object:
    """Return the sizes of a tensor, or a symbol, as text; None for a value without symbols."""
    if isinstance(value, torch.Tensor):
        return [str(size) for size in value.shape] if any(isinstance(n, torch.SymInt) for n in value.shape) else None
    return str(value) if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)) else None


def _symbols_of_inputs(graph_module: fx.GraphModule) -> list[object]:
    inputs = (node for node in graph_module.graph.nodes if node.op == "placeholder")
    return [pytree.tree_map(_symbols, node.meta.get("val")) for node in inputs]


def fake_mode_of(graph_module: fx.GraphModule) -> FakeTensorMode:
    """Return the fake tensor mode of a graph's values, or a new one if there is none."""
    for node in graph_module.graph.nodes:
        for value in pytree.tree_leaves(node.meta.get("val")):
            if isinstance(value, FakeTensor):
                return value.fake_mode
    return FakeTensorMode(allow_non_fake_inputs=True)


class ExportPass(PassBase):
    """Interpreter-style pass: override hooks, call `super()`'s to emit; see the module's docstring."""

    class ExportTracer:
        """The graph under construction, and the module that holds its constants and inner graphs."""

        def __init__(self, callback: ExportPass, codegen: fx.graph.CodeGen) -> None:
            self.callback = callback
            self.root = torch.nn.Module()
            self.graph = fx.Graph()
            self.graph.set_codegen(codegen)
            self.fake_tensor_mode: FakeTensorMode | None = None

        def attribute(self, stem: str, value: object) -> fx.Node:
            """Return a get_attr node for `value`, which becomes an attribute of the new module."""
            for name, module in [*self.root.named_children(), *vars(self.root).items()]:
                if module is value:
                    return self.graph.get_attr(name)
            index = 0
            while hasattr(self.root, f"{stem}{index}"):
                index += 1
            name = f"{stem}{index}"
            if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter):
                self.root.register_buffer(name, value)
            else:
                setattr(self.root, name, value)
            node = self.graph.get_attr(name)
            if isinstance(value, torch.Tensor):
                node.meta["val"] = self.as_fake(value)
            return node

        def as_fake(self, value: object) -> object:
            """Convert a real tensor to a fake one. Other values do not change."""
            if isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor):
                assert self.fake_tensor_mode is not None
                return self.fake_tensor_mode.from_tensor(value, static_shapes=True)
            return value

        def to_node(self, value: object) -> object:
            """Convert `value` to an argument of a node of the new graph."""
            if isinstance(value, ProxyValue):
                return value.node
            if isinstance(value, torch.Tensor):
                return self.attribute("_tensor_constant", value)
            if isinstance(value, torch.nn.Module):
                stem = "lowered_module_" if hasattr(value, "backend_id") else "submodule_"
                return self.attribute(stem, value)
            return value

    class ExportInterpreter(fx.Interpreter):
        """Walks the old graph and calls the hooks of the pass."""

        def __init__(self, callback: ExportPass, gm: fx.GraphModule) -> None:
            super().__init__(gm)
            self.callback = callback
            self.node: fx.Node = next(iter(gm.graph.nodes))

        def run_node(self, n: fx.Node) -> object:
            self.node = n
            return super().run_node(n)

        def _meta(self) -> NodeMetadata:
            return NodeMetadata(self.node.meta)

        def placeholder(self, target: Target, args: Argument, kwargs: Argument) -> ProxyValue:
            value = super().placeholder(target, args, kwargs)
            return self.callback.placeholder(str(target), value, self._meta())

        def output(self, target: object, args: Argument, kwargs: object) -> object:
            return self.callback.output(args[0], self._meta())

        def get_attr(self, target: Target, args: Argument, kwargs: Argument) -> object:
            value = super().get_attr(target, args, kwargs)
            if not isinstance(value, torch.Tensor):
                return value
            tracer = self.callback.tracer
            node = tracer.attribute("_tensor_constant", value)
            node.meta = {**self.node.meta, **node.meta}
            proxy = ProxyValue(node.meta["val"], node)
            self.callback.on_attr(proxy)
            return proxy

        def call_function(self, target: Target, args: Argument, kwargs: Argument) -> object:
            assert callable(target)
            meta = self._meta()
            hook = self.callback._hooks.get(target)
            if hook is not None:
                return hook(*args, meta)
            if target is executorch_call_delegate:
                return self.callback.call_delegate(args[0], args[1:], kwargs, meta)
            if isinstance(target, (OpOverload, OpOverloadPacket, EdgeOpOverload)):
                return self.callback.call_operator(target, args, kwargs, meta)
            if target in _MEMORY_FUNCTIONS:
                return self.callback._fx("call_function", target, args, kwargs, meta)
            if target in PRIM_OF_PYTHON_FUNCTION or getattr(target, "__module__", "") in ("_operator", "math"):
                return self.callback.call_sym(target, args, meta)
            raise ExportPassBaseError(f"{type(self.callback).__name__}: cannot interpret call of {target}")

        def call_module(self, target: object, args: object, kwargs: object) -> object:
            raise ExportPassBaseError(
                f"{type(self.callback).__name__}: call_module '{target}' is not in the edge dialect"
            )

        def call_method(self, target: object, args: object, kwargs: object) -> object:
            raise ExportPassBaseError(
                f"{type(self.callback).__name__}: call_method '{target}' is not in the edge dialect"
            )

    def __init__(self) -> None:
        super().__init__()
        self._tracers: list[ExportPass.ExportTracer] = []

    @property
    def tracer(self) -> ExportPass.ExportTracer:
        """The graph under construction; within control flow, the innermost one."""
        return self._tracers[-1]

    @tracer.setter
    def tracer(self, tracer: ExportPass.ExportTracer) -> None:
        """Set it in a class that builds a graph through the hooks and interprets no other graph."""
        self._tracers = [tracer]

    @property
    def _hooks(self) -> dict[object, Callable[..., object]]:
        import operator

        higher_order = torch.ops.higher_order
        return {
            operator.getitem: self.call_getitem,
            higher_order.cond: self.call_cond,
            higher_order.map_impl: self.call_map,
            higher_order.while_loop: self.call_while,
            higher_order.scan: self.call_scan,
        }

    def _emit(
        self, kind: str, target: Fn, args: object, kwargs: object, meta: NodeMetadata, data: object
    ) -> ProxyValue:
        tracer = self.tracer
        leaf = lambda value: isinstance(value, ProxyValue)  # noqa: E731
        node_args = pytree.tree_map(tracer.to_node, args, is_leaf=leaf)
        node_kwargs = pytree.tree_map(tracer.to_node, kwargs, is_leaf=leaf)
        node = tracer.graph.create_node(kind, target, tuple(node_args), node_kwargs)
        node.meta = dict(meta.data)
        node.meta["val"] = data
        return ProxyValue(data, node)

    def _fx(
        self, kind: str, target: Fn, args: tuple[object, ...], kwargs: dict[str, object], meta: NodeMetadata
    ) -> ProxyValue:
        """Emit a node. Its value is the result of `target` on the fake values of the arguments."""
        unwrap = lambda value: self.tracer.as_fake(value.data if isinstance(value, ProxyValue) else value)  # noqa: E731
        leaf = lambda value: isinstance(value, ProxyValue)  # noqa: E731
        fake_args = pytree.tree_map(unwrap, args, is_leaf=leaf)
        fake_kwargs = pytree.tree_map(unwrap, kwargs, is_leaf=leaf)
        mode = self.tracer.fake_tensor_mode
        assert mode is not None
        # Hooks run outside the fake mode: they create real tensors, which become constants.
        data = call_on_fakes(mode, target, fake_args, fake_kwargs)
        return self._emit(kind, target, args, kwargs, meta, data)

    def inputs(self, graph_module: fx.GraphModule) -> list[Any]:
        """Return the values of the placeholders for the interpretation: the fake tensors of the export."""
        return [node.meta.get("val") for node in graph_module.graph.nodes if node.op == "placeholder"]

    def on_attr(self, attr: ProxyValue) -> None:
        """Called with every tensor attribute that the graph reads."""

    def placeholder(self, name: str, arg: object, meta: NodeMetadata) -> ProxyValue:
        """Emit an input of the graph with the fake value `arg`."""
        node = self.tracer.graph.placeholder(name)
        node.meta = dict(meta.data)
        node.meta["val"] = arg
        return ProxyValue(arg, node)

    def output(self, results: object, meta: NodeMetadata) -> ProxyValue:
        """Emit the output node. `results`: in the structure that the graph returns."""
        leaf = lambda value: isinstance(value, ProxyValue)  # noqa: E731
        node = self.tracer.graph.output(pytree.tree_map(self.tracer.to_node, results, is_leaf=leaf))
        node.meta = dict(meta.data)
        data = pytree.tree_map(lambda v: v.data if isinstance(v, ProxyValue) else v, results, is_leaf=leaf)
        node.meta["val"] = data
        return ProxyValue(data, node)

    def call_operator(
        self, op: Fn, args: tuple[object, ...], kwargs: dict[str, object], meta: NodeMetadata
    ) -> ProxyValue:
        """Emit an operator call. `op`: an edge or ATen overload. args, kwargs: ProxyValues and plain values."""
        return self._fx("call_function", op, args, kwargs, meta)

    def call_sym(self, target: Fn, args: tuple[object, ...], meta: NodeMetadata) -> ProxyValue:
        """Emit arithmetic on symbolic sizes. `target`: a function of `operator`, `math` or torch."""
        return self._fx("call_function", target, args, {}, meta)

    def call_getitem(self, value: ProxyValue, key: int, meta: NodeMetadata) -> ProxyValue:
        """Emit a getitem that selects result `key` of an operator."""
        import operator

        return self._fx("call_function", operator.getitem, (value, key), {}, meta)

    def call_cond(
        self,
        pred: ProxyValue,
        true_fn: fx.GraphModule,
        false_fn: fx.GraphModule,
        inputs: list[object],
        meta: NodeMetadata,
    ) -> ProxyValue:
        """Emit a `torch.cond`, after this pass has transformed both branches."""
        yes = self.call_submodule(true_fn, tuple(inputs)).graph_module
        no = self.call_submodule(false_fn, tuple(inputs)).graph_module
        return self._higher_order(torch.ops.higher_order.cond, (pred, yes, no, list(inputs)), meta)

    def call_map(
        self, f: fx.GraphModule, mapped_args: list[ProxyValue], operands: list[ProxyValue], meta: NodeMetadata
    ) -> ProxyValue:
        """Emit a `map`, after this pass has transformed its body, which gets one slice of each mapped argument."""
        body = self.call_submodule(f, (*_slices(mapped_args), *operands)).graph_module
        return self._higher_order(torch.ops.higher_order.map_impl, (body, list(mapped_args), list(operands)), meta)

    def call_while(
        self,
        cond_fn: fx.GraphModule,
        body_fn: fx.GraphModule,
        carried_inputs: list[object],
        additional_inputs: list[object],
        meta: NodeMetadata,
    ) -> ProxyValue:
        """Emit a `while_loop`, after this pass has transformed its condition and its body."""
        inputs = (*carried_inputs, *additional_inputs)
        condition = self.call_submodule(cond_fn, inputs).graph_module
        body = self.call_submodule(body_fn, inputs).graph_module
        args = (condition, body, tuple(carried_inputs), tuple(additional_inputs))
        return self._higher_order(torch.ops.higher_order.while_loop, args, meta)

    def call_scan(
        self,
        combine_fn: fx.GraphModule,
        init: list[ProxyValue],
        xs: list[object],
        additional_inputs: list[ProxyValue],
        meta: NodeMetadata,
    ) -> ProxyValue:
        """Emit a `scan`, after this pass has transformed its body (of carried values and a slice of each `xs`)."""
        body = self.call_submodule(combine_fn, (*init, *_slices(xs), *additional_inputs)).graph_module
        args = (body, list(init), list(xs), list(additional_inputs))
        return self._higher_order(torch.ops.higher_order.scan, args, meta)

    def call_delegate(
        self, lowered_module: torch.nn.Module, args: tuple[object, ...], kwargs: dict[str, object], meta: NodeMetadata
    ) -> ProxyValue:
        """Emit a call of a lowered module. The new node keeps the recorded value; nothing is recomputed."""
        return self._emit(
            "call_function", executorch_call_delegate, (lowered_module, *args), kwargs, meta, meta.data.get("val")
        )

    def _higher_order(self, target: Fn, args: tuple[object, ...], meta: NodeMetadata) -> ProxyValue:
        return self._emit("call_function", target, args, {}, meta, meta.data.get("val"))

    def call_submodule(self, graph_module: fx.GraphModule, inputs: tuple[object, ...]) -> PassResult:
        """Interpret a graph with `inputs` (values or ProxyValues). Return the transformed graph module."""
        values = [value.data if isinstance(value, ProxyValue) else value for value in inputs]
        tracer = self.ExportTracer(self, graph_module.graph._codegen)
        mode = (self.tracer.fake_tensor_mode if self._tracers else None) or fake_mode_of(graph_module)
        tracer.fake_tensor_mode = mode
        self._tracers.append(tracer)
        try:
            self.ExportInterpreter(self, graph_module).run(*values, enable_io_processing=False)
        finally:
            self._tracers.pop()
        new_module = fx.GraphModule(tracer.root, tracer.graph)
        new_module.meta.update(graph_module.meta)
        return PassResult(new_module, True)

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        """Interpret the whole graph; override to transform the graph module in another way."""
        if not hasattr(self, "_tracers"):  # a subclass that defines __init__ without calling super()'s
            self._tracers = []
        result = self.call_submodule(graph_module, tuple(self.inputs(graph_module)))
        if self.should_preserve_symbolic_input_metadata():
            self._check_symbols(graph_module, result.graph_module)
        return result

    def should_preserve_symbolic_input_metadata(self) -> bool:
        """Return whether inputs must keep their symbolic sizes; override in a pass that changes them."""
        return True

    def _check_symbols(self, before: fx.GraphModule, after: fx.GraphModule) -> None:
        now = _symbols_of_inputs(after)
        for index, expected in enumerate(_symbols_of_inputs(before)):
            found = now[index] if index < len(now) else None
            if expected != found and any(leaf is not None for leaf in pytree.tree_leaves(expected)):
                raise ExportPassBaseError(
                    f"Input at position {index} did not preserve symbolic metadata: pass {type(self).__name__} was "
                    f"given {expected}, and left {found}"
                )


def _slices(values: list[Argument]) -> list[object]:
    """Return the fake value of the first slice along dimension 0 of each value."""
    data = [value.data if isinstance(value, ProxyValue) else value for value in values]
    return [torch.ops.aten.select.int(item, 0, 0) if isinstance(item, torch.Tensor) else item for item in data]
