# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Section of numeric differences between program and model, operator by operator."""

from __future__ import annotations

import math
from html import escape

from executorch.devtools.comparison.result import UNNAMED, Comparison, OperatorGap
from executorch.devtools.view.markup import Cell, path_text, table

_MAX_DECIBEL = 150.0


def gaps(comparison: Comparison) -> str:
    """Return the section's HTML."""
    first = comparison.first
    if first is None:
        verdict = f"{UNNAMED[0].upper()}{UNNAMED[1:]}." if comparison.outputs_differ else ""
        verdict = verdict or f"All {len(comparison.operators)} operators agree with the model's."
        summary = f'<p class="verdict">{verdict}</p>'
    else:
        summary = (
            f'<p class="verdict bad">First to differ: <code>{escape(first.operator)}</code> of module '
            f"<code>{escape(first.module)}</code>, {escape(first.source)}.</p>"
        )
    rows = [_row(gap) for gap in comparison.operators]
    heads = ("operator", "module", "ran as", "max abs", "MSE", "cosine", f"SQNR in dB, bar to {_MAX_DECIBEL:.0f}")
    return summary + table(heads, rows, max_rows=40, title="operators")


def decibel(value: float) -> str:
    """Format a ratio in dB; ∞ for equal values."""
    return "∞" if value == math.inf else f"{value:.1f}"


def _row(gap: OperatorGap) -> list[Cell]:
    share = min(gap.sqnr, _MAX_DECIBEL) / _MAX_DECIBEL if not math.isnan(gap.sqnr) else 0.0
    return [
        Cell("\n".join(source.operator for source in gap.sources), "code", bad=gap.differs, title=gap.node),
        Cell("\n".join(path_text(source.module) for source in gap.sources), "code"),
        Cell(gap.ran, "soft"),
        Cell(f"{gap.largest:.3g}", "n", bad=gap.differs),
        Cell(f"{gap.mse:.3g}", "n"),
        Cell(f"{gap.cosine:.6f}", "n"),
        Cell(decibel(gap.sqnr), share=share, bad=gap.differs),
    ]
