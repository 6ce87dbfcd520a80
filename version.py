# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The package's version. A wheel's build writes both values (setup.py); this file finds them in a source tree."""

import re
import subprocess
from pathlib import Path

__all__ = ["__version__", "git_version"]

_ROOT = Path(__file__).resolve().parent


def _declared_version() -> str:
    match = re.search(r'^version = "([^"]+)"', (_ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert match is not None, "pyproject.toml declares no version"
    return match[1]


def _commit() -> "str | None":
    """Return the tree's commit, or None where git or the repository is missing."""
    try:
        called = subprocess.run(["git", "rev-parse", "HEAD"], cwd=_ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return called.stdout.strip() or None


__version__: str = _declared_version()
git_version: "str | None" = _commit()
