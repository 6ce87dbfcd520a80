# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""An exported program run by PyTorch, what each of its calls computes being kept: in branches and loops as well."""

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
    """Call → its values, one for each time that it ran, and when that was, among all calls; in the order in which they
    ran first."""

    values: dict[fx.Node, list[Any]] = field(default_factory=dict)
    moments: dict[fx.Node, list[int]] = field(default_factory=dict)
    known: Computed | None = None
    count: int = 0

    def keep(self, node: fx.Node, value: Any) -> None:
        """Adds a value."""
        # What follows may write into it.
        held = value.detach().clone() if isinstance(value, torch.Tensor) else value
        self.values.setdefault(node, []).append(held)
        self.moments.setdefault(node, []).append(self.count)
        self.count += 1

    def known_value(self, node: fx.Node) -> Any:
        """The call's next value of the run that is known; None if there is none."""
        held = self.known.values.get(node, ()) if self.known else ()
        turn = len(self.values.get(node, ()))
        return held[turn] if turn < len(held) else None

    def last(self) -> dict[fx.Node, Any]:
        """Each call's last value."""
        return {node: values[-1] for node, values in self.values.items()}


class Reference:
    """A program that is run as often as asked, always from its initial state."""

    def __init__(self, program: ExportedProgram) -> None:
        self._module = program.module()
        state = {**dict(self._module.named_buffers()), **dict(self._module.named_parameters())}
        self._state = [(tensor, tensor.detach().clone()) for tensor in state.values()]

    def run(self, inputs: Sequence[Any]) -> Computed:
        """What the calls that have debug handles compute on `inputs`."""
        return self._run(inputs, Computed(), {})

    def run_with(self, inputs: Sequence[Any], known: Computed, instead: Mapping[fx.Node, Any]) -> Computed:
        """The same where calls read the values `instead` (call → value) in place of those of the calls before them.

        known: what `run` gave: the value of a call that cannot be computed from the others.
        """
        return self._run(inputs, Computed(known=known), instead)

    def returned(self, inputs: Sequence[Any]) -> Any:
        """What the program returns."""
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
            value = known  # a program's wrong values may be no indices
        if n.op == "call_function" and debug_handles_of(n):
            self._computed.keep(n, value)
            if n in self._instead:
                return _copied(self._instead[n])
        return value

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if isinstance(target, HigherOrderOperator):
            args = tuple(self._body(each) if isinstance(each, fx.GraphModule) else each for each in args)
        return super().call_function(target, args, kwargs)

    def _body(self, body: fx.GraphModule) -> Any:
        """A branch or a loop's body, as a function whose calls are kept, too."""
        return lambda *operands: _Recorder(body, self._computed, self._instead).run(*operands)


def _copied(values: Any) -> Any:
    """What a run may write into, or restore, is not what others have."""
    return tree_map_only(torch.Tensor, lambda value: value.detach().clone(), values)
