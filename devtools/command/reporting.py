# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`report` and `graph`: write a page about a program and its runs, or files for other viewers."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from executorch.devtools.command.arguments import (
    BESIDE,
    Command,
    add_model,
    add_record,
    add_runs,
    load_inputs,
    load_model,
    load_record,
    progress,
    read_program,
)
from executorch.devtools.etdump.trace import read_trace_file
from executorch.devtools.report import RunAnalysis, analyze_run, chrome_trace, graph_html, model_explorer, report_html

_REPORT = """\
Runs a program and writes a page with timeline, ranked operators, graph and memory. The page needs no network or server.

  python -m executorch.devtools report model.pte -o report.html

With the model, the page names operators and modules and compares the program's values with the model's:

  python -m executorch.devtools report model.pte --model my_model.py:make -o report.html

For a run recorded elsewhere, and for other viewers (ui.perfetto.dev, Model Explorer):

  python -m executorch.devtools report model.pte --trace trace.etdp --record record
  python -m executorch.devtools report model.pte --chrome-trace trace.json --model-explorer graph.json
"""
_GRAPH = """\
Draws the graph of a program and its delegates, without running it:

  python -m executorch.devtools graph model.pte -o graph.html

Operators inside delegates are drawn from the ETRecord of the export or from the model:

  python -m executorch.devtools graph model.pte --record record -o graph.html

An output name that ends in .json selects the format of Google's Model Explorer:

  python -m executorch.devtools graph model.pte -o graph.json
"""


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("program", metavar="FILE.pte", help="the program")
    parser.add_argument("-o", "--output", metavar="FILE.html", help="page to write (default: FILE.html)")
    parser.add_argument("--chrome-trace", metavar="FILE.json", help="write all runs for Perfetto and chrome://tracing")
    parser.add_argument("--model-explorer", metavar="FILE.json", help="write the graph for Google's Model Explorer")
    parser.add_argument("--trace", metavar="FILE.etdp", help="a recorded run to show instead of a new one")
    add_model(parser)
    add_runs(parser, 20)


def _report(options: argparse.Namespace) -> int:
    analysis = _analysis(options, runs=options.runs)
    written = {Path(options.output or Path(options.program).with_suffix(".html").name): report_html(analysis)}
    if options.chrome_trace:
        written[Path(options.chrome_trace)] = json.dumps(chrome_trace(analysis))
    if options.model_explorer:
        written[Path(options.model_explorer)] = json.dumps(model_explorer(analysis))
    return _write(written)


def _add_graph(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("program", metavar="FILE.pte", help="the program")
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="page (.html) or Model Explorer graph (.json) to write"
    )
    add_record(parser, BESIDE)
    add_model(parser)


def _graph(options: argparse.Namespace) -> int:
    path = Path(options.output)
    if path.suffix not in (".html", ".json"):
        raise ValueError(f"--output {path}: expected a name that ends in .html or .json")
    analysis = _analysis(options, runs=0)
    return _write({path: graph_html(analysis) if path.suffix == ".html" else json.dumps(model_explorer(analysis))})


def _analysis(options: argparse.Namespace, runs: int) -> RunAnalysis:
    data = read_program(options.program)
    user = load_model(options, data)
    trace = getattr(options, "trace", None)
    return analyze_run(
        data,
        title=Path(options.program).name,
        method=options.method,
        model=None if user is None else user.model,
        inputs=load_inputs(options) if user is None else user.inputs,
        lower=None if user is None else user.lower,
        record=load_record(options, data),
        trace=read_trace_file(trace) if trace else None,
        runs=runs,
        warm_up=getattr(options, "warm_up", 0),
        threads=getattr(options, "threads", None),
        progress=progress("runs"),
    )


def _write(written: dict[Path, str]) -> int:
    for path, text in written.items():
        path.write_text(text, encoding="utf-8")
        print(path)
    return 0


REPORT = Command("report", "write a page about a program and its runs", _REPORT, _add_report, _report)
GRAPH = Command("graph", "draw the graph of a program and its delegates", _GRAPH, _add_graph, _graph)
