# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The dialects' rules in the form that `torch.export.ExportedProgram(verifiers=[…])` takes."""

from __future__ import annotations

from collections.abc import Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any

from torch import fx
from torch._export.verifier import Verifier
from torch._ops import HigherOrderOperator, OpOverload
from torch.export import ExportedProgram

from executorch.exir.capture import EdgeCompileConfig
from executorch.exir.dialects.autograd_rules import autograd_safe_rules
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.dialects.edge_rules import core_aten_rules, edge_rules, legal_dtypes
from executorch.exir.dialects.executorch_prim_ops import PRIM_OF_PYTHON_FUNCTION
from executorch.exir.dialects.verifier import Rule, verify
from executorch.exir.error import VerificationError


class WellFormed(Verifier):
    """Rules of every program: a sound graph that fits its signature. Any operators are allowed.

    For programs between two steps; the dialects' verifiers add their own rules.
    """

    dialect = "EDGE_IN_TRANSIT"
    rules: Sequence[Rule] = ()

    def allowed_op_types(self) -> tuple[type[object], ...]:
        """Return the types of targets that a call_function node may have."""
        return (OpOverload, HigherOrderOperator, EdgeOpOverload, FunctionType, BuiltinFunctionType)

    def allowed_getattr_types(self) -> tuple[type[object], ...]:
        """Return the types of attributes that a get_attr node may read."""
        return super().allowed_getattr_types_for_subgm()

    def check_additional(self, gm: fx.GraphModule) -> None:
        """Check the rules of the dialect. Raises VerificationError."""
        verify(gm, self.rules, f"{self.dialect} verifier")

    def __call__(self, *args: Any) -> Any:
        for program in args:
            self.check_additional(program.graph_module if isinstance(program, ExportedProgram) else program)

    def is_valid(self, gm: fx.GraphModule) -> bool:
        """Return whether `gm` keeps the rules of the dialect."""
        try:
            self(gm)
        except VerificationError:
            return False
        return True


def _verifier(name: str, rules: Sequence[Rule]) -> type[Verifier]:
    class DialectVerifier(WellFormed):
        dialect = name

    DialectVerifier.rules = rules
    return DialectVerifier


def _exceptions(
    config: EdgeCompileConfig, extra: list[OpOverload] | None, preserve: list[OpOverload] | None
) -> list[OpOverload]:
    return [*config._core_aten_ops_exception_list, *config.preserve_ops, *(extra or []), *(preserve or [])]


def EXIREdgeDialectVerifier(
    edge_compile_config: EdgeCompileConfig | None = None,
    class_only: bool = False,
    core_aten_ops_exception_list: list[OpOverload] | None = None,
    preserve_ops: list[OpOverload] | None = None,
) -> Any:
    """A verifier of the edge dialect: an instance, or its class with `class_only`."""
    config = edge_compile_config or EdgeCompileConfig()
    exceptions = _exceptions(config, core_aten_ops_exception_list, preserve_ops)
    verifier = _verifier("EDGE", edge_rules(config._skip_dim_order, exceptions) if config._check_ir_validity else ())
    return verifier if class_only else verifier()


def EXIRATenDialectVerifier(
    edge_compile_config: EdgeCompileConfig | None = None,
    class_only: bool = False,
    core_aten_ops_exception_list: list[OpOverload] | None = None,
    preserve_ops: list[OpOverload] | None = None,
) -> Any:
    """A verifier of Core ATen: an instance, or its class with `class_only`."""
    config = edge_compile_config or EdgeCompileConfig()
    exceptions = _exceptions(config, core_aten_ops_exception_list, preserve_ops)
    verifier = _verifier("OLD_EXIR_ATEN", core_aten_rules(exceptions) if config._check_ir_validity else ())
    return verifier if class_only else verifier()


def AutogradSafeATenVerifier(class_only: bool = False) -> Any:
    """A verifier of autograd-safe ATen: programs of torch.export that can be trained. ExecuTorch 1.4 has none."""
    verifier = _verifier("AUTOGRAD_SAFE_ATEN", autograd_safe_rules())
    return verifier if class_only else verifier()


# Names that `transformers.exporters` replaces while it exports.
_EXECUTORCH_SYM_OPS = frozenset(PRIM_OF_PYTHON_FUNCTION.values())


def _check_tensor_args_matching_op_allowed_dtype(gm: fx.GraphModule) -> None:
    """Raise VerificationError if an edge operator does not take the dtypes of a call."""
    verify(gm, [legal_dtypes(())], "dtypes of edge operators")


__all__ = ["AutogradSafeATenVerifier", "EXIRATenDialectVerifier", "EXIREdgeDialectVerifier", "WellFormed"]
