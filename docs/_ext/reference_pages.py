# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Write the pages of `reference/generated/` from the code, before Sphinx reads the sources."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import cmake_options
import command_options
import environment_variables
import model_coverage
import pipeline_steps
import runner_options

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parents[1]
PAGES = {
    "cmake-options.md": cmake_options.page,
    "environment.md": environment_variables.page,
    "executor-runner.md": runner_options.page,
    "commands.md": command_options.page,
    "model-coverage.md": model_coverage.page,
    "pipeline.md": pipeline_steps.page,
}


def write_pages(folder: Path) -> None:
    """Write each page whose text has changed, so that an unchanged one is not built again."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        text = page()
        file = folder / name
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def _write(app: Sphinx) -> None:
    write_pages(DOCS / "reference" / "generated")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the writer."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True}
