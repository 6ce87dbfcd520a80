# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Draw the plots with the project's own tools, before Sphinx reads the pages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SCRIPT = Path(__file__).with_name("draw_pictures.py")
NAMES = ("memory-plan.svg", "delegation.html", "report.html")
_PLACEHOLDER = "<p>This picture is left out of a quick build.</p>\n"


def _make(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "_static" / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    if os.environ.get("EXECUTORCH_DOCS_QUICK"):
        for name in NAMES:
            if not (folder / name).is_file():
                (folder / name).write_text(_PLACEHOLDER)
        return
    subprocess.run([sys.executable, str(SCRIPT), str(folder)], check=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the drawing."""
    app.connect("builder-inited", _make)
    return {"parallel_read_safe": True}
