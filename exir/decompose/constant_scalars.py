# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Compute scalars that a program reads from its constants, so that sizes derived from them are constants too.

    n = item(ceil(stride / 2))  # stride: a buffer that nothing writes     →     n = 4
    y = pad(x, [0, n])          # a size that torch.export does not know          y = pad(x, [0, 4])

Codecs such as Mimi keep strides and kernel sizes in buffers and compute the padding of each convolution from them.
"""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch import fx
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.fx.experimental.symbolic_shapes import compute_unbacked_bindings

from executorch.exir.decompose.free_layouts import is_written
from executorch.exir.error import ExportError
from executorch.exir.operator.call_effects import draws_random_numbers, writes_arguments
from executorch.exir.pass_base import fake_mode_of
from executorch.exir.rewrite.fake_values import computed_value
from executorch.exir.rewrite.program_constants import constant_tensors
from executorch.exir.rewrite.program_copy import copy_program

_ITEMS = (torch.ops.aten.item.default, torch.ops.aten._local_scalar_dense.default)
_MAX_ELEMENTS = 1024
"""Larger constants are weights."""


def states_of(programs: Collection[ExportedProgram]) -> set[str]:
    """Return the names of parameters and buffers that any of several methods updates, in place or as results.

    None for a single method, whose own updates are known where constants are read.
    """
    return set().union(*map(_written_names, programs)) if len(programs) > 1 else set()


def compute_constant_scalars(program: ExportedProgram, states: Collection[str] = ()) -> ExportedProgram:
    """Return the program, or a copy whose outermost graph has these scalars and the sizes that follow from them.

    states: names of parameters and buffers that other methods update, and which are not constant.
    The program stays as it is where torch cannot compute the values of later calls again, and where it returns such a
    scalar: its signature says that the output depends on data.
    """
    if not any(node.target in _ITEMS for node in program.graph.nodes):
        return program
    copied = copy_program(program)
    try:
        is_changed = _Scalars(copied, states).run()
    except (RuntimeError, ValueError, TypeError, KeyError, ExportError):
        return program
    copied.graph_module.recompile()
    return copied if is_changed else program


def _written_names(program: ExportedProgram) -> set[str]:
    signature = program.graph_signature
    targets = {spec.arg.name: spec.target for spec in signature.input_specs if spec.target is not None}
    in_place = {
        targets[node.name]
        for node in program.graph.find_nodes(op="placeholder")
        if node.name in targets and is_written(node)
    }
    return in_place | {*signature.buffers_to_mutate.values(), *signature.parameters_to_mutate.values()}


class _Scalars:
    """One pass over a graph: values that are known, and calls whose operands changed."""

    def __init__(self, program: ExportedProgram, states: Collection[str]) -> None:
        self._graph = program.graph
        self._mode = fake_mode_of(program.graph_module)
        placeholders = {node.name: node for node in program.graph.find_nodes(op="placeholder")}
        updated = {spec.arg.name for spec in program.graph_signature.input_specs if spec.target in states}
        self._known: dict[fx.Node, torch.Tensor] = {
            placeholders[name]: tensor
            for name, tensor in constant_tensors(program).items()
            if tensor.numel() <= _MAX_ELEMENTS and name not in updated and not is_written(placeholders[name])
        }
        self._stale: set[fx.Node] = set()
        self._returns_scalar = False

    def run(self) -> bool:
        """Replace what can be computed. Return whether there was a scalar, and the program returns none."""
        is_changed = False
        with torch.no_grad():
            for node in list(self._graph.nodes):
                if node.op != "call_function":
                    continue
                if node.target in _ITEMS and node.args[0] in self._known:
                    self._replace(node, self._known[node.args[0]].item())
                    is_changed = True
                    continue
                if node in self._stale and not self._refresh(node):
                    continue
                if _is_pure(node) and all(source in self._known for source in node.all_input_nodes):
                    args, kwargs = fx.node.map_arg((node.args, dict(node.kwargs)), self._known.__getitem__)
                    self._known[node] = node.target(*args, **kwargs)
        return is_changed and not self._returns_scalar

    def _replace(self, node: fx.Node, scalar: int | float | bool) -> None:
        for user in list(node.users):
            user.args, user.kwargs = fx.node.map_arg(
                (user.args, user.kwargs), lambda operand: scalar if operand is node else operand
            )
            self._stale.add(user)
            self._returns_scalar |= user.op == "output"
        self._graph.erase_node(node)

    def _refresh(self, node: fx.Node) -> bool:
        """Compute the value of a call with new operands again. Return false if the call is gone."""
        value = computed_value(self._mode, node)
        if isinstance(value, (int, float)):
            self._replace(node, value)
            return False
        if value is None and not node.users and not node.all_input_nodes:  # an assertion, which holds
            self._graph.erase_node(node)
            return False
        node.meta["val"] = value
        # Sizes that depend on data have new symbols, whose origin torch needs in later traces.
        node.meta.pop("unbacked_bindings", None)
        if bindings := compute_unbacked_bindings(self._mode.shape_env, value):
            node.meta["unbacked_bindings"] = bindings
        self._stale.update(node.users)
        return True


def _is_pure(node: fx.Node) -> bool:
    """Return whether the call returns one small tensor and depends only on its operands."""
    value, target = node.meta.get("val"), node.target
    return (
        isinstance(target, OpOverload)
        and isinstance(value, torch.Tensor)
        and all(isinstance(size, int) for size in value.shape)
        and value.numel() <= _MAX_ELEMENTS
        and not writes_arguments(target)
        and not draws_random_numbers(target)
        and "empty" not in target.name()
        and not is_written(node)
    )
