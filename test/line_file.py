# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A file to which a long run appends lines, and which an interruption may cut off in a line."""

from __future__ import annotations

from pathlib import Path


def read_complete_lines(path: Path) -> list[str]:
    """Return the lines of a file; none if it does not exist. Remove a last line that an interruption cut off, so that
    the next line is not appended to it."""
    if not path.exists():
        return []
    content = path.read_bytes()
    complete = content[: content.rfind(b"\n") + 1]
    if complete != content:
        path.write_bytes(complete)
    # splitlines() would also split at U+2028, which JSON may contain.
    return complete.decode().split("\n")[:-1]
