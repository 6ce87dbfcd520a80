# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The console script `executor_runner`: becomes the program of that name that the package ships."""

from __future__ import annotations

import os
import sys
from pathlib import Path

BINARY = Path(__file__).resolve().parents[2] / "data" / "bin" / "executor_runner"


def main() -> None:
    """Replaces this process by the compiled program, arguments and all."""
    if not BINARY.is_file():
        sys.exit(f"executor_runner: {BINARY} is missing: the package was installed without its compiled part")
    os.execv(BINARY, [str(BINARY), *sys.argv[1:]])


if __name__ == "__main__":
    main()
