# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The operators of a program's delegates, as executor_runner --list describes them."""

import os
import re
import subprocess
from pathlib import Path

from executorch.extension.executor_runner import command


def operators_of(program: Path, *options: str, **environment: str) -> list[str]:
    """A line for each operator: "NAME in PRECISION: OPERANDS -> RESULTS"."""
    listing = subprocess.run(
        [command.BINARY, "--model_path", program, "--list", *options],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | environment,
    ).stdout
    return re.findall(r"^      (.*)$", listing, re.MULTILINE)
