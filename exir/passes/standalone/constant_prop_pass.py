# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The documented import path of `fold_constants`."""

from __future__ import annotations

from collections.abc import Collection

from torch.export import ExportedProgram

from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.passes.simplify.fold_constants import fold_constants


def constant_prop_pass(
    exported_program: ExportedProgram,
    custom_skip_targets: Collection[EdgeOpOverload] | None = None,
    _skip_dim_order: bool = True,
) -> ExportedProgram:
    """Fold calls that depend only on constants, of any size, in place. Return the program.

    custom_skip_targets: operators that stay. Calls without inputs (`full` …) stay, too, unless their value is small.
    _skip_dim_order: accepted and ignored; the pass adds no operator.
    """
    fold_constants(exported_program, frozenset(custom_skip_targets or ()), free_growth=None)
    exported_program.graph_module.recompile()
    return exported_program


__all__ = ["constant_prop_pass"]
