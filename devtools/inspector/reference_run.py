# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Run an exported program in PyTorch and keep the value of every call, including those in branches and loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx
from torch._ops import HigherOrderOperator
from torch.export import ExportedProgram
from torch.utils._pytree import tree_map_only

from executorch.exir.graph_module import debug_handles_of


@dataclass
class Computed:
    """Values of a run: call → its values and their positions among all calls, ordered by first run."""

    values: dict[fx.Node, list[Any]] = field(default_factory=dict)
    moments: dict[fx.Node, list[int]] = field(default_factory=dict)
    known: Computed | None = None
    count: int = 0

    def keep(self, node: fx.Node, value: Any) -> None:
        """Add a copy of a value, because later calls may write into the original."""
        kept = value.detach().clone() if isinstance(value, torch.Tensor) else value
        self.values.setdefault(node, []).append(kept)
        self.moments.setdefault(node, []).append(self.count)
        self.count += 1

    def known_value(self, node: fx.Node) -> Any:
        """The call's next value of the known run; None if it has no further value."""
        known = self.known.values.get(node, ()) if self.known else ()
        turn = len(self.values.get(node, ()))
        return known[turn] if turn < len(known) else None

    def last(self) -> dict[fx.Node, Any]:
        """Call → its last value."""
        return {node: values[-1] for node, values in self.values.items()}


class Reference:
    """A program that can run repeatedly, each time from its initial state."""

    def __init__(self, program: ExportedProgram) -> None:
        self._module = program.module()
        state = {**dict(self._module.named_buffers()), **dict(self._module.named_parameters())}
        self._state = [(tensor, tensor.detach().clone()) for tensor in state.values()]

    def run(self, inputs: Sequence[Any]) -> Computed:
        """Run on `inputs`; return the values of calls with debug handles."""
        return self._run(inputs, Computed(), {})

    def run_with(self, inputs: Sequence[Any], known: Computed, instead: Mapping[fx.Node, Any]) -> Computed:
        """Run with some operands replaced: calls read `instead[call]` in place of the call's value.

        known: the result of `run`, used for calls that fail on the replaced operands.
        """
        return self._run(inputs, Computed(known=known), instead)

    def returned(self, inputs: Sequence[Any]) -> Any:
        """Run on `inputs`; return the program's outputs."""
        with torch.no_grad():
            try:
                return _copied(self._module(*_copied(inputs)))
            finally:
                self._restore()

    def _restore(self) -> None:
        for tensor, value in self._state:
            tensor.copy_(value)

    def _run(self, inputs: Sequence[Any], computed: Computed, instead: Mapping[fx.Node, Any]) -> Computed:
        with torch.no_grad():
            try:
                _Recorder(self._module, computed, instead).run(*_copied(inputs))
            finally:
                self._restore()
        return computed


class _Recorder(fx.Interpreter):
    def __init__(self, module: fx.GraphModule, computed: Computed, instead: Mapping[fx.Node, Any]) -> None:
        super().__init__(module)
        self._computed, self._instead = computed, instead

    def run_node(self, n: fx.Node) -> Any:
        known = self._computed.known_value(n)
        try:
            value = super().run_node(n)
        except (RuntimeError, IndexError, ValueError):
            if known is None:
                raise
            value = known  # wrong values may be invalid as indices
        if n.op == "call_function" and debug_handles_of(n):
            self._computed.keep(n, value)
            if n in self._instead:
                return _copied(self._instead[n])
        return value

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if isinstance(target, HigherOrderOperator):
            args = tuple(
                self._body(argument) if isinstance(argument, fx.GraphModule) else argument for argument in args
            )
        return super().call_function(target, args, kwargs)

    def _body(self, body: fx.GraphModule) -> Any:
        """A branch or loop body as a function whose calls are recorded too."""
        return lambda *operands: _Recorder(body, self._computed, self._instead).run(*operands)


def _copied(values: Any) -> Any:
    """Copy values that a run may write into."""
    return tree_map_only(torch.Tensor, lambda value: value.detach().clone(), values)
