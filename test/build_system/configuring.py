# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Run CMake's configure step, for tests of accepted and refused options."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def configure(build: Path, *options: str, source: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """The finished `cmake`, its output without line breaks inside messages."""
    command = ["cmake", "-S", source, "-B", build, "-G", "Ninja", f"-DPython3_EXECUTABLE={sys.executable}", *options]
    return run(*command, **environment)


def run(*command: object, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """The finished command; `stdout` holds both of its streams, with runs of blanks as one."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env={**os.environ, **environment},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    done.stdout = re.sub(r"\s+", " ", done.stdout)
    return done


def cached(build: Path) -> dict[str, str]:
    """The entries of a build folder's CMakeCache.txt."""
    text = (build / "CMakeCache.txt").read_text()
    return dict(re.findall(r"^([A-Za-z_][\w-]*):\w+=(.*)$", text, re.M))
