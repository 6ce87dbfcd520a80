# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A file to which a long run appends lines, and which an interruption may cut off in a line."""

from __future__ import annotations

from pathlib import Path


def read_complete_lines(path: Path) -> list[str]:
    """Return the lines of a file without a last one that an interruption cut off; none if the file does not exist."""
    # splitlines() would also split at U+2028, which JSON may contain.
    return path.read_bytes().decode(errors="replace").split("\n")[:-1] if path.exists() else []


def append_line(path: Path, line: str) -> None:
    """Append a line in the place of a last one that an interruption cut off."""
    with path.open("ab+") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 1))
        if size and file.read() != b"\n":
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)
        file.write(f"{line}\n".encode())
