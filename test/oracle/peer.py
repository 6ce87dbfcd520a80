# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""ExecuTorch 1.4.1 in an environment of its own: ``EXECUTORCH_PEER_PYTHON`` names its interpreter."""

import contextlib
import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PYTHON = os.environ.get("EXECUTORCH_PEER_PYTHON", "")
MISSING = "EXECUTORCH_PEER_PYTHON names no Python with executorch==1.4.1"


def is_installed() -> bool:
    """Return whether the peer is available."""
    return bool(PYTHON) and Path(PYTHON).exists()


def _environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}


def run_script(script: str, arguments: Sequence[object], folder: Path) -> str:
    """Run ``script`` with the peer's interpreter in ``folder``; return its output. Raises ``RuntimeError``."""
    command = [PYTHON, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=_environment(), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the peer failed:\n{done.stderr[-4000:]}")
    return done.stdout


class Conversation:
    """A script that keeps running under the peer's interpreter. It reads each question as a line of JSON, and
    answers with "ANSWER" and a line of JSON; other output is ignored.
    """

    def __init__(self, script: str, arguments: Sequence[object], folder: Path) -> None:
        self._errors = (folder / "errors").open("w+")
        command = [PYTHON, "-c", script, *map(str, arguments)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self._errors}
        self._process = subprocess.Popen(command, cwd=folder, env=_environment(), text=True, **pipes)

    def request(self, question: Any) -> Any:
        """The answer. Raises ``RuntimeError`` when the script has ended."""
        questions, answers = self._process.stdin, self._process.stdout
        assert questions is not None and answers is not None
        with contextlib.suppress(BrokenPipeError):  # the missing answer is reported below
            print(json.dumps(question), file=questions, flush=True)
        for line in answers:
            if line.startswith("ANSWER"):
                return json.loads(line.removeprefix("ANSWER"))
        self._errors.seek(0)
        raise RuntimeError(f"the peer ended:\n{self._errors.read()[-4000:]}")

    def __enter__(self) -> "Conversation":
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._errors.close()
