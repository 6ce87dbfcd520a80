# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A report on a program and its runs, as one page of HTML: `write_report("model.pte", "report.html")`."""

from executorch.devtools.report.exports import chrome_trace, model_explorer
from executorch.devtools.report.making import make_study, write_report
from executorch.devtools.report.page import graph_html, report_html
from executorch.devtools.report.study import Study

__all__ = ["Study", "chrome_trace", "graph_html", "make_study", "model_explorer", "report_html", "write_report"]
