# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Section of rankings by time: by operator, by call, by module."""

from __future__ import annotations

from executorch.devtools.analysis.run_analysis import RunAnalysis
from executorch.devtools.inspector.sources import Source
from executorch.devtools.inspector.steps import (
    Step,
    Total,
    attributed_share,
    by_module,
    by_operator,
    totals,
    without_numbers,
)
from executorch.devtools.view.markup import Cell, milliseconds, path_text, percent, table

_MODULE_DEPTH = 2
_MAX_NAMED = 3


def rankings(analysis: RunAnalysis) -> str:
    """Return the section's HTML."""
    attributed = percent(attributed_share(analysis.steps))
    return "".join(
        [
            f"<p>Averages of {analysis.runs} runs. {attributed} of the time is attributed to operators and modules. "
            "The time of a fused operator is part of the operator into which it is fused.</p>",
            "<h3>By operator</h3>",
            _totals(totals(analysis.steps, by_operator), "operator", "operators"),
            "<h3>By module</h3>",
            _totals(totals(analysis.steps, _module_of), f"module, to depth {_MODULE_DEPTH}", "modules"),
            "<h3>Call by call</h3>",
            _calls(analysis),
        ]
    )


def _module_of(step: Step, source: Source | None) -> str:
    """Module of a step or of a source fused into it, down to the second level."""
    return ".".join(by_module(step, source).split(".")[:_MODULE_DEPTH])


def _totals(ranked: list[Total], head: str, title: str) -> str:
    largest = max((total.share for total in ranked), default=1.0) or 1.0
    rows = [
        [
            Cell(total.key, "code"),
            Cell(_ran(total), "soft", title="\n".join(total.ran)),
            Cell(_count(total), "n"),
            Cell(milliseconds(total.time), "n"),
            Cell(percent(total.share), share=total.share / largest),
        ]
        for total in ranked
    ]
    return table((head, "runs as", "calls", "time", "share"), rows, max_rows=15, title=title)


def _ran(total: Total) -> str:
    """Format the kernels and backends of a total, each backend once."""
    by_backend: dict[str, list[str]] = {}
    for kernel in total.ran[:_MAX_NAMED]:
        backend, _, name = kernel.rpartition(": ")
        by_backend.setdefault(backend, []).append(name)
    parts = [f"{backend}: {', '.join(names)}" if backend else ", ".join(names) for backend, names in by_backend.items()]
    return "; ".join(parts) + (", …" if len(total.ran) > _MAX_NAMED else "")


def _count(total: Total) -> str:
    """Format the number of calls, and separately the number of fused ones."""
    fused = f"{total.fused} fused" if total.fused else ""
    return " + ".join(part for part in (str(total.calls - total.fused or ""), fused) if part)


def _calls(analysis: RunAnalysis) -> str:
    total = analysis.whole or 1.0
    ranked = sorted(analysis.steps, key=lambda step: -step.time)
    largest = ranked[0].time if ranked else 1.0
    rows = [
        [
            Cell("" if step.instruction is None else str(step.instruction), "n"),
            Cell("\n".join(source.operator for source in step.sources) or step.ran, "code"),
            Cell("\n".join(path_text(source.module) for source in step.sources), "code"),
            Cell(without_numbers(step.ran), "soft", title=step.ran),
            Cell(_file(step.line), "soft", title=step.line),
            Cell(milliseconds(step.time), "n"),
            Cell(percent(step.time / total), share=step.time / (largest or 1.0)),
        ]
        for step in ranked
    ]
    heads = ("instruction", "operator", "module", "ran", "source", "time", "share")
    return table(heads, rows, max_rows=20, title="calls")


def _file(source: str) -> str:
    """Format a source line without folders and function."""
    return source.split(", in ")[0].replace("\\", "/").split("/")[-1]
