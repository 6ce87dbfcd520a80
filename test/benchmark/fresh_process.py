# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Run a measurement in a fresh process, of this interpreter or of the peer's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any


def figures_of(python: str, what: str, *arguments: str) -> dict[str, Any]:
    """Return the JSON object that `python arguments…` prints as its last line.

    what: names the measurement in the RuntimeError for a process that fails. Another interpreter gets no PYTHONPATH,
    because that would make it import this project.
    """
    environment = {k: v for k, v in os.environ.items() if python == sys.executable or k != "PYTHONPATH"}
    done = subprocess.run([python, *arguments], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"{what} under {python} failed:\n{done.stderr[-3000:]}")
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures
