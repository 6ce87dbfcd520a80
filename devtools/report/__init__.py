# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Report on a program and its runs as one HTML page: `write_report("model.pte", "report.html")`."""

from executorch.devtools.analysis.analyze import analyze_run
from executorch.devtools.analysis.run_analysis import RunAnalysis
from executorch.devtools.report.file import write_report
from executorch.devtools.view.exports import chrome_trace, model_explorer
from executorch.devtools.view.page import graph_html, report_html

# Names of the previous release.
Study, make_study = RunAnalysis, analyze_run

__all__ = [
    "RunAnalysis",
    "Study",
    "analyze_run",
    "chrome_trace",
    "graph_html",
    "make_study",
    "model_explorer",
    "report_html",
    "write_report",
]
