# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Running users' passes over one program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from torch._export.verifier import Verifier
from torch.export import ExportedProgram
from torch.fx.passes.infra.pass_manager import PassManager as FxPassManager

from executorch.exir.error import ExportError, ExportErrorType
from executorch.exir.pass_base import ExportedProgramPassResult
from executorch.exir.pass_manager import ExportedProgramPassManager
from executorch.exir.program.program_graph import set_verifiers, with_graph
from executorch.exir.rewrite.fake_values import give_missing_values
from executorch.exir.rewrite.program_copy import copy_program
from executorch.exir.verification.verifier import WellFormed

_Program = TypeVar("_Program")
# Passes in order, a manager of passes (torch's too), or a single pass.
Passes = Sequence[object] | FxPassManager | ExportedProgramPassManager | Callable[..., object]


def program_for(program: ExportedProgram, passes: Passes) -> ExportedProgram:
    """Return the program that `passes` may change: a copy, or `program` if an attribute of a pass refers to it."""
    listed = getattr(passes, "passes", passes)
    callables = listed if isinstance(listed, Sequence) else [listed]
    refers_to_it = any(
        value is program
        for function in callables
        for value in getattr(getattr(function, "__wrapped__", function), "__dict__", {}).values()
    )
    return program if refers_to_it else copy_program(program)


def run_passes(program: ExportedProgram, passes: Passes) -> ExportedProgram:
    """Return `program` after `passes`; verification is left to the caller."""
    return _run(program, passes).exported_program


def _run(program: ExportedProgram, passes: Passes) -> ExportedProgramPassResult:
    program._verifiers = [WellFormed]
    if not isinstance(passes, ExportedProgramPassManager):
        listed: list[Any] = list(passes) if isinstance(passes, (list, tuple)) else [passes]
        passes = ExportedProgramPassManager(listed)
    result = passes.run(program, with_graph)
    give_missing_values(program.graph_module)  # passes that hold `program` change it in place
    return result


def transform_program(
    program: ExportedProgram, passes: Passes, override_verifiers: list[type[Verifier]] | None = None
) -> ExportedProgramPassResult:
    """Return `program` after `passes`, verified, and whether they changed it; see `_transform`."""
    verifiers = list(program.verifiers)
    result = _run(program_for(program, passes), passes)
    program._verifiers = verifiers
    if not result.modified:
        return ExportedProgramPassResult(program, False)
    set_verifiers(result.exported_program, override_verifiers or verifiers)
    return result


def _transform(
    program: ExportedProgram, *passes: object, override_verifiers: list[type[Verifier]] | None = None
) -> ExportedProgram:
    """Return `program` after `passes`, verified; `program` itself if no pass changed anything.

    The passes work on a copy, unless one of them holds a reference to `program`.

    Args:
        passes: Graph passes and program passes, one per argument.
        override_verifiers: Verifiers of the result; those of `program` if not given.

    Raises:
        ExportError: A list or a verifier among the passes, or the result breaks a rule.
    """
    for one_pass in passes:
        if isinstance(one_pass, (list, tuple, Verifier)) or (
            isinstance(one_pass, type) and issubclass(one_pass, Verifier)
        ):
            why = f"expected passes as separate arguments and verifiers in override_verifiers, found {one_pass!r}"
            raise ExportError(ExportErrorType.INVALID_INPUT_TYPE, why)
    return transform_program(program, passes, override_verifiers).exported_program


def transform_exported_program(ep: _Program, *passes: object) -> _Program:
    """Run passes on an `ExportedProgram`, or on an object that has a `transform` of its own."""
    transform = getattr(ep, "transform", None)
    if transform is not None:
        return cast(_Program, transform(*passes))
    return cast(_Program, _transform(cast(ExportedProgram, ep), *passes))


__all__ = ["Passes", "_transform", "program_for", "run_passes", "transform_exported_program", "transform_program"]
