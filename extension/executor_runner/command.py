# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The console scripts `executor_runner` and `llama_main`: each becomes the packaged program of that name."""

from __future__ import annotations

import os
import sys
from pathlib import Path

BINARY = Path(__file__).resolve().parents[2] / "data" / "bin" / "executor_runner"


def main() -> None:
    """Replace this process by `executor_runner` with the same arguments."""
    _become(BINARY)


def llama_main() -> None:
    """Replace this process by `llama_main` with the same arguments."""
    _become(BINARY.with_name("llama_main"))


def _become(binary: Path) -> None:
    if not binary.is_file():
        sys.exit(f"{binary.name}: {binary} is missing: the package was installed without its compiled part")
    os.execv(binary, [str(binary), *sys.argv[1:]])


if __name__ == "__main__":
    main()
