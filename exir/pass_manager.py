# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Pass managers: run passes in order, with checks between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch.fx.passes.infra.pass_manager as fx_passes
from torch import fx, nn
from torch._export.verifier import Verifier
from torch.export import ExportedProgram
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.error import ExportError, ExportErrorType
from executorch.exir.pass_base import ExportedProgramPassBase, ExportedProgramPassResult, PassType


def _flatten(passes: Sequence[Any]) -> list[Callable[..., Any]]:
    flat: list[Callable[..., Any]] = []
    for entry in passes:
        flat += _flatten(entry) if isinstance(entry, (list, tuple)) else [entry]
    return flat


def _name(one: object) -> str:
    return str(getattr(one, "__name__", type(one).__name__))


def _with_result(one: Callable[..., Any]) -> Callable[[fx.GraphModule], Any]:
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
            passes=[_with_result(one_pass) for one_pass in _flatten(passes or [])],
            run_checks_after_each_pass=run_checks_after_each_pass,
            suppress_check_failures=suppress_check_failures,
            steps=steps,
        )

    def add_pass(self, _pass: Callable[..., Any]) -> None:
        """Append a pass."""
        super().add_pass(_with_result(_pass))

    def check(self, module: nn.Module) -> None:
        """Raise `ExportError` unless `module` is a graph module with a well-formed graph."""
        check_graph(module)
        super().check(module)


def check_graph(module: nn.Module) -> None:
    """Raise `ExportError` unless `module` is a graph module whose graph is well-formed and calls no methods."""
    if not isinstance(module, fx.GraphModule):
        raise ExportError(
            ExportErrorType.INVALID_OUTPUT_TYPE, f"a pass must return a GraphModule, found {type(module).__name__}"
        )
    module.graph.lint()
    for node in module.graph.find_nodes(op="call_method"):
        raise ExportError(
            ExportErrorType.NOT_SUPPORTED,
            f"node '{node.name}' is a call_method of '{node.target}': a graph may only call operators",
        )


class ExportedProgramPassManager(fx_passes.PassManager):
    """`ExportedProgramPassManager(passes=[...])(program)` runs passes over a program and verifies the result.

    A graph pass among them runs on the program's graph. The passes work on a copy of the program, unless one of them
    holds a reference to the program. `EdgeProgramManager.transform` takes such a manager too.

    constraints: functions of two passes (a, b) that return True if a must run before b; they order the passes.
    steps: how often the passes run at most; they stop when none of them changes the program.
    run_checks_after_each_pass: checks the graph after each pass, not just at the end.
    """

    def __init__(
        self,
        passes: Sequence[PassType] | Sequence[Sequence[PassType]] | None = None,
        constraints: list[Callable[[Callable[..., object], Callable[..., object]], bool]] | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
        steps: int = 1,
    ) -> None:
        super().__init__(
            passes=_flatten(passes or []),
            constraints=constraints,
            run_checks_after_each_pass=run_checks_after_each_pass,
            suppress_check_failures=suppress_check_failures,
            steps=steps,
        )

    def check(self, exported_program: ExportedProgram) -> None:  # type: ignore[override]
        """Check the program's graph, then the program by its verifiers; the first that fails raises an error."""
        check_graph(exported_program.graph_module)
        for verifier in exported_program.verifiers:
            verifier().check(exported_program)

    def __call__(  # type: ignore[override]
        self, exported_program: ExportedProgram, override_verifiers: list[type[Verifier]] | None = None
    ) -> ExportedProgramPassResult:
        """Run the passes. override_verifiers replaces the program's verifiers in the result."""
        from executorch.exir.program.transform import transform_program  # it imports this module

        return transform_program(exported_program, self, override_verifiers)

    def run(
        self,
        exported_program: ExportedProgram,
        update_graph: Callable[[ExportedProgram, fx.GraphModule], ExportedProgram],
    ) -> ExportedProgramPassResult:
        """Run the passes on `exported_program` itself. update_graph puts the graph of a pass into a program."""
        if not self._validated:
            self.solve_constraints()
        modified = False
        for _ in range(self.steps):
            changed = False
            for graph_pass in self.passes:
                result = _run_on_program(graph_pass, exported_program, update_graph)
                exported_program, changed = result.exported_program, changed or result.modified
                if self.run_checks_after_each_pass:
                    self.check(exported_program)
            modified = modified or changed
            if not changed:
                break
        return ExportedProgramPassResult(exported_program, modified)


def _run_on_program(
    one: Callable[..., Any],
    program: ExportedProgram,
    update_graph: Callable[[ExportedProgram, fx.GraphModule], ExportedProgram],
) -> ExportedProgramPassResult:
    if isinstance(one, ExportedProgramPassBase):
        changed = one(program)
        check_graph(changed.exported_program.graph_module)
        return changed
    result = _with_result(one)(program.graph_module)
    if not hasattr(result, "graph_module"):
        why = f"pass {_name(one)} must return a PassResult, found {result!r}"
        raise ExportError(ExportErrorType.INVALID_OUTPUT_TYPE, why)
    if result.modified or result.graph_module is not program.graph_module:
        check_graph(result.graph_module)
        return ExportedProgramPassResult(update_graph(program, result.graph_module), True)
    return ExportedProgramPassResult(program, False)
