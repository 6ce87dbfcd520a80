# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""write_report(): the analysis of a run, written as a page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from executorch.devtools.analysis.analyze import analyze_run
from executorch.devtools.analysis.run_analysis import RunAnalysis
from executorch.devtools.view.page import report_html
from executorch.exir import ExecutorchProgramManager


def write_report(
    program: ExecutorchProgramManager | bytes | str | os.PathLike[str], path: str | os.PathLike[str], **known: Any
) -> RunAnalysis:
    """Write the report on a program as an HTML page to `path`. `known`: arguments of `analyze_run`. Return the
    analysis.
    """
    title = Path(program).name if isinstance(program, (str, os.PathLike)) else "program"
    analysis = analyze_run(program, **{"title": title, **known})
    Path(path).write_text(report_html(analysis), encoding="utf-8")
    return analysis
