# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Pass managers: run passes in order, with checks between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch.fx.passes.infra.pass_manager as fx_passes
from torch import fx, nn
from torch.export import ExportedProgram
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.error import ExportError, ExportErrorType
from executorch.exir.pass_base import ExportedProgramPassBase, ExportedProgramPassResult, PassType


def _flatten(passes: Sequence[Any]) -> list[Any]:
    return [one for entry in passes for one in (_flatten(entry) if isinstance(entry, (list, tuple)) else [entry])]


def _name(one: Any) -> str:
    return str(getattr(one, "__name__", type(one).__name__))


def _with_result(one: Any) -> Callable[[fx.GraphModule], Any]:
    """Wrap a pass: if it returns None, it has changed the graph in place."""

    def run(graph_module: fx.GraphModule) -> Any:
        result = one(graph_module)
        return PassResult(graph_module, True) if result is None else result

    run.__name__ = _name(one)
    run.__wrapped__ = one  # type: ignore[attr-defined]
    return run


class PassManager(fx_passes.PassManager):
    """`PassManager(passes=[...])(graph_module)` runs graph passes in order; nested lists of passes are flattened.

    A pass returns a PassResult, or nothing if it changes the graph in place.
    """

    def __init__(
        self,
        passes: Sequence[PassType] | Sequence[Sequence[PassType]] | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
        steps: int = 1,
    ) -> None:
        super().__init__(
            passes=[_with_result(one) for one in _flatten(passes or [])],
            run_checks_after_each_pass=run_checks_after_each_pass,
            suppress_check_failures=suppress_check_failures,
            steps=steps,
        )

    def add_pass(self, _pass: Any) -> None:
        """Appends a pass."""
        super().add_pass(_with_result(_pass))

    def check(self, module: nn.Module) -> None:
        """Raise `ExportError` unless `module` is a graph module with a well-formed graph."""
        if not isinstance(module, fx.GraphModule):
            raise ExportError(
                ExportErrorType.INVALID_OUTPUT_TYPE, f"a pass must return a GraphModule, found {type(module).__name__}"
            )
        module.graph.lint()
        super().check(module)


class ExportedProgramPassManager:
    """Runs passes over whole programs; a graph pass among them runs on the program's graph.

    update_graph: replaces the program's graph by the one that a graph pass returned. With None, the manager is only a
    list of passes for `EdgeProgramManager.transform`, which replaces the graph itself.
    """

    def __init__(
        self,
        passes: Sequence[PassType] | None = None,
        update_graph: Callable[[ExportedProgram, fx.GraphModule], ExportedProgram] | None = None,
    ) -> None:
        self.passes = _flatten(passes or [])
        self._update_graph = update_graph

    def __call__(self, exported_program: ExportedProgram) -> ExportedProgramPassResult:
        modified = False
        for one in self.passes:
            if isinstance(one, ExportedProgramPassBase):
                result = one(exported_program)
                exported_program = result.exported_program
                modified = modified or result.modified
                continue
            graph_result = _with_result(one)(exported_program.graph_module)
            if not hasattr(graph_result, "graph_module"):
                why = f"pass {_name(one)} must return a PassResult, found {graph_result!r}"
                raise ExportError(ExportErrorType.INVALID_OUTPUT_TYPE, why)
            if graph_result.modified or graph_result.graph_module is not exported_program.graph_module:
                if self._update_graph is None:
                    why = (
                        f"pass {_name(one)} returned another graph; call EdgeProgramManager.transform with this manager"
                    )
                    raise ExportError(ExportErrorType.INVALID_OUTPUT_TYPE, why)
                exported_program = self._update_graph(exported_program, graph_result.graph_module)
                modified = True
        return ExportedProgramPassResult(exported_program, modified)
