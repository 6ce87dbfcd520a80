# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""ExecuTorch 1.4.1 in an environment of its own: ``EXECUTORCH_PEER_PYTHON`` names its interpreter."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

PYTHON = os.environ.get("EXECUTORCH_PEER_PYTHON", "")
MISSING = "EXECUTORCH_PEER_PYTHON names no Python with executorch==1.4.1"


def is_installed() -> bool:
    """Whether the peer can be asked."""
    return bool(PYTHON) and Path(PYTHON).exists()


def run_script(script: str, arguments: Sequence[object], folder: Path) -> str:
    """What ``script`` prints under the peer's interpreter, working in ``folder``. Raises ``RuntimeError``."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    command = [PYTHON, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the peer failed:\n{done.stderr[-4000:]}")
    return done.stdout
