# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The result of a comparison: the differences of a model's operators from the program's."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import Enum

from tabulate import tabulate

from executorch.devtools.inspector.sources import Source

__all__ = ["UNNAMED", "Comparison", "OperatorGap", "Step"]

UNNAMED = "outputs differ, but no recorded operator differs by itself: small differences may have accumulated"


class Step(Enum):
    """Steps of a comparison, in order."""

    LOWERING = "lowering the model again"
    MODEL = "running the model"
    PROGRAM = "running the program"
    DELEGATES = "looking into delegates"
    FIRST = "finding the first difference"


@dataclass(frozen=True)
class OperatorGap:
    """Difference between an operator's value in the model and in the program.

    `ran`: kernel or delegate that computed it, or "backend: operator" inside a delegate. For fused operators,
    `operator` names all, `node`, `module` and `source` describe the first, and `sources` lists those of each.
    `sqnr`: in dB. `largest`: largest absolute difference; infinite if only one side is NaN.
    `differs`: beyond the tolerance, also when the model's operator reads the program's operands.
    `handles`: debug handles of the node.
    """

    operator: str
    node: str
    module: str
    source: str
    ran: str
    instruction: int
    mse: float
    sqnr: float
    cosine: float
    largest: float
    differs: bool
    handles: tuple[int, ...] = ()
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """Result of compare().

    operators: in the model's order. outputs_differ: whether the program's outputs differ. notes: delegates that could
    not be examined, and results of recompiling parts of delegates.
    """

    operators: list[OperatorGap]
    outputs_differ: bool
    notes: tuple[str, ...] = ()

    @property
    def first(self) -> OperatorGap | None:
        """The first operator that differs; None without a difference."""
        return next((operator for operator in self.operators if operator.differs), None)

    def as_json(self) -> str:
        """Operators, notes and the first operator that differs, as JSON."""
        first = self.first
        summary = {"first": first and first.node, "outputs_differ": self.outputs_differ, "notes": self.notes}
        return json.dumps(summary | {"operators": [asdict(operator) for operator in self.operators]}, indent=1)

    def __str__(self) -> str:
        rows = [
            (
                "▶" if operator is self.first else "",
                *(_short(operator.operator), operator.module, operator.ran),
                *(f"{operator.largest:.3g}", f"{operator.mse:.3g}", f"{operator.sqnr:.1f}", f"{operator.cosine:.6f}"),
            )
            for operator in self.operators
        ]
        headers = ("", "operator", "module", "ran as", "max abs", "MSE", "SQNR dB", "cosine")
        first = self.first
        if first is None:
            verdict = UNNAMED if self.outputs_differ else "no operator differs"
        else:
            verdict = f"first to differ: {first.operator} ({first.node}) of module '{first.module}', {first.source}"
        return "\n".join([tabulate(rows, headers=headers), "", verdict, *self.notes])


def _short(operators: str, max_length: int = 48) -> str:
    """Return operator names for a table, shortened to `max_length` characters."""
    names = [part.removeprefix("aten.").removesuffix(".default") for part in operators.split(" + ")]
    text = operators if len(names) == 1 else " + ".join(names)
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"
