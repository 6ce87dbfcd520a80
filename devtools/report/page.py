# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The report: one page of HTML that needs nothing but itself."""

from __future__ import annotations

from collections import Counter
from html import escape

from executorch.devtools.inspector.steps import attributed_share
from executorch.devtools.report.gaps import gaps
from executorch.devtools.report.graph import graph
from executorch.devtools.report.markup import Cell, byte_count, milliseconds, percent, table
from executorch.devtools.report.rankings import rankings
from executorch.devtools.report.study import Study
from executorch.devtools.report.style import SCRIPT, STYLE
from executorch.devtools.report.timeline import timeline
from executorch.exir.memory.picture import plan_svg

__all__ = ["graph_html", "report_html"]


def report_html(study: Study) -> str:
    """All that is known of the run: what is not (a comparison, a run) has no section."""
    sections = {"Overview": _overview(study)}
    if study.steps:
        sections |= {"Timeline": timeline(study), "Operators": rankings(study)}
    sections["Graph"] = graph(study)
    if study.comparison is not None:
        sections["Numbers"] = gaps(study.comparison)
    if study.memory is not None:
        sections["Memory"] = _memory(study)
    return _page(study, sections)


def graph_html(study: Study) -> str:
    """The graph alone."""
    return _page(study, {"Graph": graph(study)})


def _page(study: Study, sections: dict[str, str]) -> str:
    title = f"{study.title}: {study.method}"
    links = "".join(f'<a href="#{name.lower()}">{name}</a>' for name in sections)
    body = "".join(
        f'<section id="{name.lower()}"><h2>{name}</h2>{content}</section>' for name, content in sections.items()
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" '
        f'content="light dark"><title>{escape(title)}</title><style>{STYLE}</style></head><body>'
        f"<header><h1>{escape(study.title)}</h1><p>method <code>{escape(study.method)}</code></p></header>"
        f"<nav><div>{links}</div></nav><main>{body}</main><script>{SCRIPT}</script></body></html>\n"
    )


def _overview(study: Study) -> str:
    kinds = Counter(call.kind for call in study.calls)
    tiles = [(byte_count(study.file_bytes), "the file")]
    if study.steps:
        tiles = [
            (milliseconds(study.whole), f"an execution, on average of {study.runs}"),
            (percent(attributed_share(study.steps)), "of it known by operator and module"),
            *tiles,
        ]
    if study.memory is not None:
        tiles.append((byte_count(study.memory.size), "planned memory"))
    tiles.append((str(kinds["kernel"]), "calls of kernels"))
    tiles.append((str(kinds["delegate"]), "calls of delegates"))
    if study.comparison is not None:
        first = study.comparison.first
        tiles.append(("none" if first is None else first.operator, "first operator to differ from the model"))
    shown = "".join(
        f'<div class="tile"><b>{escape(value)}</b><span>{escape(what)}</span></div>' for value, what in tiles
    )
    notes = "".join(f'<p class="bad">{escape(note)}</p>' for note in study.notes)
    return f'<div class="tiles">{shown}</div>{notes}{_loading(study)}'


def _loading(study: Study) -> str:
    """What was timed before the first execution."""
    found = [
        f"{escape(event.name)}: {milliseconds(event.perf_data.avg)}"
        for block in study.blocks
        for event in block.events
        if event.perf_data is not None and event.name in ("Program::load_method", "Method::init")
    ]
    return f"<p>Loading: {', '.join(found)}.</p>" if found else ""


def _memory(study: Study) -> str:
    assert study.memory is not None
    plan = study.memory
    return (
        f"<p>{byte_count(plan.size)} planned for {len(plan.tensors)} tensors, over {plan.steps} instructions. A "
        "rectangle is a tensor: to the right when it is alive, upwards where it is. Colours are modules, or operators "
        f'where those are not known.</p><div class="scroll">{plan_svg({study.method: plan})}</div>'
    ) + _constants(study)


def _constants(study: Study) -> str:
    """What the modules keep in the file."""
    whole = sum(study.constants.values())
    if not whole:
        return ""
    largest = max(study.constants.values())
    rows = [
        [
            Cell(module or "(no module)", "code"),
            Cell(byte_count(size), "n"),
            Cell(percent(size / whole), share=size / largest),
        ]
        for module, size in sorted(study.constants.items(), key=lambda item: -item[1])
    ]
    return (
        f"<h3>Constants by module</h3><p>{byte_count(whole)} of weights and other constants, those that delegates keep "
        "included, as the model has them: a delegate may keep them in another form.</p>"
        + table(("module", "bytes", "share"), rows, most=15, title="modules")
    )
