# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The report: one self-contained HTML page."""

from __future__ import annotations

from collections import Counter
from html import escape

from executorch.devtools.analysis.run_analysis import RunAnalysis
from executorch.devtools.inspector.steps import attributed_share
from executorch.devtools.view.gaps import gaps
from executorch.devtools.view.graph import graph
from executorch.devtools.view.markup import Cell, byte_count, milliseconds, percent, table
from executorch.devtools.view.memory import plan_svg
from executorch.devtools.view.rankings import rankings
from executorch.devtools.view.style import COLOURS, SCRIPT, STYLE
from executorch.devtools.view.timeline import timeline

__all__ = ["graph_html", "report_html"]


def report_html(analysis: RunAnalysis) -> str:
    """Return the page. Sections without data (comparison, run) are omitted."""
    sections = {"Overview": _overview(analysis)}
    if analysis.steps:
        sections |= {"Timeline": timeline(analysis), "Operators": rankings(analysis)}
    sections["Graph"] = graph(analysis)
    if analysis.comparison is not None:
        sections["Numbers"] = gaps(analysis.comparison)
    if analysis.memory is not None:
        sections["Memory"] = _memory(analysis)
    return _page(analysis, sections)


def graph_html(analysis: RunAnalysis) -> str:
    """Return a page with only the graph."""
    return _page(analysis, {"Graph": graph(analysis)})


def _page(analysis: RunAnalysis, sections: dict[str, str]) -> str:
    title = f"{analysis.title}: {analysis.method}"
    links = "".join(f'<a href="#{name.lower()}">{name}</a>' for name in sections)
    body = "".join(
        f'<section id="{name.lower()}"><h2>{name}</h2>{content}</section>' for name, content in sections.items()
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{COLOURS}{STYLE}</style></head><body>"
        f"<header><h1>{escape(analysis.title)}</h1><p>method <code>{escape(analysis.method)}</code></p></header>"
        f"<nav><div>{links}</div></nav><main>{body}</main><script>{SCRIPT}</script></body></html>\n"
    )


def _overview(analysis: RunAnalysis) -> str:
    kinds = Counter(call.kind for call in analysis.calls)
    tiles = [(byte_count(analysis.file_bytes), "the file")]
    if analysis.steps:
        tiles = [
            (milliseconds(analysis.whole), f"an execution, on average of {analysis.runs}"),
            (percent(attributed_share(analysis.steps)), "of it known by operator and module"),
            *tiles,
        ]
    if analysis.memory is not None:
        tiles.append((byte_count(analysis.memory.size), "planned memory"))
    tiles.append((str(kinds["kernel"]), "calls of kernels"))
    tiles.append((str(kinds["delegate"]), "calls of delegates"))
    if analysis.comparison is not None:
        first = analysis.comparison.first
        tiles.append(("none" if first is None else first.operator, "first operator to differ from the model"))
    shown = "".join(
        f'<div class="tile"><b>{escape(value)}</b><span>{escape(what)}</span></div>' for value, what in tiles
    )
    notes = "".join(f'<p class="bad">{escape(note)}</p>' for note in analysis.notes)
    return f'<div class="tiles">{shown}</div>{notes}{_loading(analysis)}'


def _loading(analysis: RunAnalysis) -> str:
    """Return the times of events before the first execution."""
    times = [
        f"{escape(event.name)}: {milliseconds(event.perf_data.avg)}"
        for block in analysis.blocks
        for event in block.events
        if event.perf_data is not None and event.name in ("Program::load_method", "Method::init")
    ]
    return f"<p>Loading: {', '.join(times)}.</p>" if times else ""


def _memory(analysis: RunAnalysis) -> str:
    assert analysis.memory is not None
    plan = analysis.memory
    return (
        f"<p>{byte_count(plan.size)} planned for {len(plan.tensors)} tensors, over {plan.steps} instructions. A "
        "rectangle is a tensor: its width is its lifetime, its height its bytes. Colours are modules, or operators "
        f'where those are not known.</p><div class="scroll">{plan_svg({analysis.method: plan})}</div>'
    ) + _constants(analysis)


def _constants(analysis: RunAnalysis) -> str:
    """Return the table of constants by module."""
    total = sum(analysis.constants.values())
    if not total:
        return ""
    largest = max(analysis.constants.values())
    rows = [
        [
            Cell(module or "(no module)", "code"),
            Cell(byte_count(size), "n"),
            Cell(percent(size / total), share=size / largest),
        ]
        for module, size in sorted(analysis.constants.items(), key=lambda item: -item[1])
    ]
    return (
        f"<h3>Constants by module</h3><p>{byte_count(total)} of weights and other constants, those that delegates keep "
        "included, as the model has them: a delegate may keep them in another form.</p>"
        + table(("module", "bytes", "share"), rows, max_rows=15, title="modules")
    )
