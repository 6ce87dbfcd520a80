# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The C++ compiler of tests, and ccache for the builds in their temporary folders."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

COMPILER = shutil.which(os.environ.get("CXX", "c++"))
_CCACHE = shutil.which("ccache")


def cached(command: Sequence[str]) -> list[str]:
    """Return a command that compiles through ccache, if it is installed.

    ccache compares commands: with paths relative to the folder, they are the same in each temporary folder.
    """
    return [*([] if _CCACHE is None else [_CCACHE]), *command]


def cmake_with_ccache() -> dict[str, str]:
    """Return environment variables that let CMake compile all targets through ccache, if it is installed."""
    return {} if _CCACHE is None else {"CMAKE_CXX_COMPILER_LAUNCHER": _CCACHE}


def ccache_below(folder: Path) -> dict[str, str]:
    """Return environment variables that let ccache compare absolute paths below a folder as relative ones."""
    return {"CCACHE_BASEDIR": str(folder), "CCACHE_NOHASHDIR": "1"}
