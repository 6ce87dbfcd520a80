# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""LoweredBackendModule: a delegate as a module, with the backend's payload and the program it was compiled from."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from torch.fx import Graph, GraphModule, Node

from executorch.exir.delegate import executorch_call_delegate, get_lowered_module_name
from executorch.exir.format.named_data import NamedDataStoreOutput
from executorch.exir.rewrite.program_copy import copy_call, copy_program

if TYPE_CHECKING:
    from executorch.exir.pass_base import PassType
    from executorch.exir.schema import CompileSpec, Program

__all__ = ["LoweredBackendModule", "get_lowered_backend_modules", "get_lowered_submodules"]


class DelegateSettings(TypedDict, total=False):
    """Fields of `ExecutorchBackendConfig` that a caller may set for the program of a single delegate."""

    emit_stacktrace: bool
    extract_delegate_segments: bool
    segment_alignment: int
    constant_tensor_alignment: int | None
    delegate_alignment: int | None
    memory_planning_pass: PassType


class LoweredDelegate(Protocol):
    """A delegate's own program, after emission."""

    @property
    def buffer(self) -> bytes: ...
    @property
    def executorch_program(self) -> Program: ...


DelegateLowering = Callable[[ExportedProgram, DelegateSettings], LoweredDelegate]
_lowerings: list[DelegateLowering] = []


def register_delegate_lowering(lower: DelegateLowering) -> None:
    """Set the function that lowers the program of a delegate. `exir.program`, which imports this module, has it."""
    _lowerings[:] = [lower]


class LoweredBackendModule(torch.nn.Module):
    """A delegate that `to_backend` returns.

    A call runs the original program eagerly. torch.export preserves the call, so that lowered modules can be composed.
    """

    meta: dict[str, object] | None

    def __init__(
        self,
        edge_program: ExportedProgram,
        backend_id: str,
        processed_bytes: bytes,
        compile_specs: list[CompileSpec],
        named_data_store_output: NamedDataStoreOutput | None = None,
    ) -> None:
        super().__init__()
        self._original_exported_program = edge_program
        self._backend_id = backend_id
        self._processed_bytes = processed_bytes
        self._compile_specs = compile_specs
        self._named_data_store_output = named_data_store_output
        self.meta = None

    def __deepcopy__(self, memo: dict[int, object] | None) -> LoweredBackendModule:
        """Copy the module. Payload, weights and named data are shared, because they are never written."""
        twin = LoweredBackendModule(
            copy_program(self._original_exported_program),
            self._backend_id,
            self._processed_bytes,
            copy.deepcopy(self._compile_specs, memo),
            self._named_data_store_output,
        )
        twin.meta = copy.copy(self.meta)
        return twin

    @property
    def backend_id(self) -> str:
        """The backend's name, in the program and in the runtime."""
        return self._backend_id

    @property
    def processed_bytes(self) -> bytes:
        """The payload that `preprocess` returned."""
        return self._processed_bytes

    @property
    def compile_specs(self) -> list[CompileSpec]:
        """The backend's configuration, written beside the payload."""
        return self._compile_specs

    @property
    def original_module(self) -> ExportedProgram:
        """The program that was compiled, without changes by the backend."""
        return self._original_exported_program

    @property
    def named_data_store_output(self) -> NamedDataStoreOutput | None:
        """Named data that the delegate reads at load, if any."""
        return self._named_data_store_output

    def buffer(
        self,
        extract_delegate_segments: bool = False,
        segment_alignment: int = 128,
        constant_tensor_alignment: int | None = None,
        delegate_alignment: int | None = None,
        memory_planning: PassType | None = None,
    ) -> bytes:
        """Return a `.pte` whose method `forward` only calls this delegate. Alignments in bytes."""
        settings: DelegateSettings = {
            "extract_delegate_segments": extract_delegate_segments,
            "segment_alignment": segment_alignment,
            "constant_tensor_alignment": constant_tensor_alignment,
            "delegate_alignment": delegate_alignment,
        }
        return bytes(self._lower(memory_planning, settings).buffer)

    def program(self, emit_stacktrace: bool = False, memory_planning: PassType | None = None) -> Program:
        """Return the program of `buffer` before serialization. `memory_planning`: replaces the default pass."""
        return self._lower(memory_planning, {"emit_stacktrace": emit_stacktrace}).executorch_program

    def forward(self, *args: object, **kwargs: object) -> Any:
        if kwargs:
            raise TypeError(f"a delegate takes positional inputs only, found keywords {sorted(kwargs)}")
        return executorch_call_delegate(self, *args)

    def _lower(self, memory_planning: PassType | None, settings: DelegateSettings) -> LoweredDelegate:
        if memory_planning is not None:
            settings["memory_planning_pass"] = memory_planning
        (lower,) = _lowerings
        return lower(_program_calling(self), settings)


def get_lowered_submodules(graph_module: GraphModule) -> list[tuple[str, LoweredBackendModule, Node]]:
    """Return (attribute name, module, calling node) of the delegates that `graph_module` calls, in graph order.

    Raises TypeError if a call names another kind of module.
    """
    submodules = []
    for node in graph_module.graph.find_nodes(op="call_function", target=executorch_call_delegate, sort=True):
        name = str(node.args[0].target)
        module = graph_module.get_submodule(name)
        if not isinstance(module, LoweredBackendModule):
            raise TypeError(
                f"{node.format_node()}: {name!r} should be a LoweredBackendModule, found {type(module).__name__}"
            )
        submodules.append((name, module, node))
    return submodules


def get_lowered_backend_modules(graph_module: GraphModule) -> list[LoweredBackendModule]:
    """Return the delegates that `graph_module` calls, in graph order."""
    return [module for _, module, _ in get_lowered_submodules(graph_module)]


def _program_calling(module: LoweredBackendModule) -> ExportedProgram:
    """Return a program with the inputs and outputs of `module` that only calls it."""
    original = module.original_module
    inputs = [spec for spec in original.graph_signature.input_specs if spec.kind is InputKind.USER_INPUT]
    specs = original.graph_signature.output_specs
    outputs = [
        value
        for value, spec in zip(original.graph.output_node().args[0], specs, strict=True)
        if spec.kind is OutputKind.USER_OUTPUT
    ]
    root = torch.nn.Module()
    graph = Graph()
    values = {node.name: node.meta for node in original.graph.find_nodes(op="placeholder")}
    arguments = []
    for spec in inputs:
        placeholder = graph.placeholder(spec.arg.name)
        placeholder.name = spec.arg.name
        placeholder.meta = dict(values[spec.arg.name])
        arguments.append(placeholder)
    call = graph.call_function(
        executorch_call_delegate, (graph.get_attr(get_lowered_module_name(root, module)), *arguments)
    )
    call.meta = {"val": tuple(value.meta["val"] for value in outputs), "debug_handle": 1}
    elements = []
    for index, value in enumerate(outputs):
        element = graph.call_function(operator.getitem, (call, index))
        element.meta = {"val": value.meta["val"], "debug_handle": 1}
        elements.append(element)
    graph.output(tuple(elements))
    return ExportedProgram(
        root=root,
        graph=graph,
        graph_signature=ExportGraphSignature(
            input_specs=[InputSpec(InputKind.USER_INPUT, spec.arg, None) for spec in inputs],
            output_specs=[OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(node.name), None) for node in elements],
        ),
        state_dict={},
        range_constraints=dict(original.range_constraints),
        module_call_graph=[copy_call(entry) for entry in original.module_call_graph],
        constants={},
        verifiers=list(original.verifiers),
    )
