# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Emit one method: its inputs and weights, its graph, its outputs."""

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, InputSpec
from torch.fx import Node
from torch.utils._pytree import TreeSpec, treespec_dumps

from executorch.exir.emit.arguments import scalar
from executorch.exir.emit.graph import GraphEmitter, blank
from executorch.exir.emit.state import MethodState, Ref
from executorch.exir.emit.tensors import constant_tensor, external_tensor, mutable_tensor, tensor_value
from executorch.exir.error import ExportError
from executorch.exir.memory.lifetimes.specs import mutable_buffer_names
from executorch.exir.schema import Chain, ContainerMetadata, ExecutionPlan, Null
from executorch.exir.tensor import TensorSpec


def emit_method(name: str, program: ExportedProgram, state: MethodState) -> ExecutionPlan:
    """Emit a method. Raises ExportError if a node cannot be emitted, or if the memory is not planned."""
    graph_module, signature = program.graph_module, program.graph_signature
    if "non_const_buffer_sizes" not in graph_module.meta:
        raise ExportError("emit", name, "its memory is not planned; run a MemoryPlanningPass first")
    emitter = GraphEmitter(state, graph_module, is_outermost=True)
    inputs: list[int] = []
    bound: list[object] = []
    entries = {entry.arg.name: entry for entry in signature.input_specs}
    mutable = mutable_buffer_names(signature)
    for node in graph_module.graph.nodes:
        if node.op == "placeholder":
            if node.name not in entries:
                raise ExportError("emit", node, "the program's signature lacks this input")
            try:
                bound.append(_placeholder(program, node, entries[node.name], node.name in mutable, state, inputs))
            except ValueError as error:
                raise ExportError("emit", node, str(error)) from error
    returned = emitter.run(bound)
    outputs = [_output(state, value).id for value in returned]
    mutations = [entry for entry in signature.output_specs if entry.kind.name.endswith("_MUTATION")]
    if mutations and len(outputs) == len(signature.output_specs):
        raise ExportError("emit", name, f"the new value of {mutations[0].target} is not written back to it")
    return ExecutionPlan(
        name=name,
        container_meta_type=ContainerMetadata(
            _encoded(program.call_spec.in_spec), _encoded(program.call_spec.out_spec)
        ),
        values=state.values,
        inputs=inputs,
        outputs=outputs,
        chains=[Chain([], [], state.instructions, state.stack_traces if state.options.emit_stacktrace else None)],
        operators=state.operators,
        delegates=state.delegates,
        non_const_buffer_sizes=list(graph_module.meta["non_const_buffer_sizes"]),
    )


def _placeholder(
    program: ExportedProgram, node: Node, entry: InputSpec, is_mutable: bool, state: MethodState, inputs: list[int]
) -> Ref:
    """Return the value of a placeholder. A user's input is appended to `inputs`."""
    if entry.kind is InputKind.USER_INPUT:
        ref = _user_input(node, entry.arg, state)
        inputs.append(ref.id)
        return ref
    if entry.kind in (InputKind.CUSTOM_OBJ, InputKind.TOKEN):
        raise ExportError("emit", node, f"inputs of kind {entry.kind.name} are not supported")
    if not node.users:
        return state.constant(Null())
    target, tensor = str(entry.target), _weight(program, str(entry.target), node)
    spec = node.meta["spec"]
    if is_mutable:
        return mutable_tensor(state, tensor, spec, target, bool(node.meta.get("et_init_buffer")))
    tag = node.meta.get("constant_tag")
    return constant_tensor(state, tensor, spec) if tag is None else external_tensor(state, tensor, spec, target, tag)


def _user_input(node: Node, arg: object, state: MethodState) -> Ref:
    spec = node.meta.get("spec")
    if isinstance(spec, TensorSpec):
        return tensor_value(state, spec)
    if isinstance(arg, ConstantArgument):
        return state.fresh(Null() if arg.value is None else scalar(arg.value))
    return state.fresh(blank(node.meta.get("val")))


def _weight(program: ExportedProgram, name: str, node: Node) -> torch.Tensor:
    for table in (program.state_dict, program.constants):
        if isinstance(table.get(name), torch.Tensor):
            weight: torch.Tensor = table[name]
            return weight
    raise ExportError("emit", node, f"the program holds no tensor named {name!r}")


def _output(state: MethodState, value: object) -> Ref:
    if isinstance(value, Ref):
        return value
    return state.fresh(Null() if value is None else scalar(value))


def _encoded(spec: TreeSpec | None) -> str:
    """Return a pytree spec in torch's encoding, "" if a type lacks one: flat lists of values still work."""
    if spec is None:
        return ""
    try:
        return treespec_dumps(spec)
    except NotImplementedError:
        return ""
