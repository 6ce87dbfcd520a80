# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The code blocks of the documentation, and how each is run.

Python blocks of a page run in order in one namespace and one temporary folder. A comment above a block says otherwise:

    <!-- run -->              a console block: its commands (`$ …`) run there too
    <!-- compile -->          a C++ block: all such blocks of a page are one source, which is compiled
    <!-- output -->           a text block: what the code block above has printed
    <!-- path: FOLDER -->     a Python block: the folder of the repository is on Python's path
    <!-- not run: REASON -->  the block is not run

In printed output `…` stands for any text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = {"python", "console", "bash", "cpp", "c", "cmake"}
_FENCE = re.compile(r"^(?P<fence>`{3,}|:{3,})(?P<language>[^`\s]*)")
_MARK = re.compile(r"^<!-- (?P<mark>run|compile|output|path: \S+|not run: .+) -->$")


@dataclass(frozen=True)
class Block:
    """One fenced block. `line`: of its first line of text, from 1 on. `mark`: the comment above it, or ""."""

    page: Path
    line: int
    language: str
    mark: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def reason(self) -> str:
        """Reason why the block does not run; "" if it runs."""
        return self.mark.removeprefix("not run: ") if self.mark.startswith("not run: ") else ""

    @property
    def folder(self) -> str:
        """The folder that the block needs on Python's path, "" for none."""
        return self.mark.removeprefix("path: ") if self.mark.startswith("path: ") else ""


def pages() -> list[Path]:
    """Return the site's own pages and the documents at the top that it includes."""
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    left_out = ("_build", "generated", "notebooks")
    own = [p for p in (ROOT / "docs").rglob("*.md") if not set(left_out) & set(p.parts)]
    return [*top, *sorted(own)]


def blocks_of(page: Path) -> list[Block]:
    """Return the page's fenced blocks in order."""
    return list(_blocks(page, page.read_text(encoding="utf-8").splitlines()))


def _blocks(page: Path, lines: list[str]) -> Iterator[Block]:
    mark, opened, start = "", None, 0
    for number, line in enumerate(lines, 1):
        fence = _FENCE.match(line)
        if opened is not None:
            if fence and fence["fence"] == opened["fence"] and not fence["language"]:
                text = "\n".join(lines[start : number - 1]) + "\n"
                yield Block(page, start + 1, opened["language"], mark, text)
                mark, opened = "", None
        elif fence:
            opened, start = fence, number
        elif match := _MARK.match(line):
            mark = match["mark"]
        elif line.strip():
            mark = ""


def commands_of(block: Block) -> list[tuple[str, list[str]]]:
    """Return each command of a console block with the lines that it is shown to print."""
    found: list[tuple[str, list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.startswith("> ") and found and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line[2:]}", [])
        elif found and line.strip():
            found[-1][1].append(line)
    return found


def missing_line(shown: list[str], printed: str) -> str | None:
    """Return the first shown line that the output does not hold after the ones before it; None if all are there."""
    rest = printed.splitlines()
    for line in shown:
        if line.strip() in ("", "…"):
            continue
        pattern = re.compile(r"\s+".join(map(re.escape, line.split())).replace("…", ".*"))
        while rest and not pattern.fullmatch(" ".join(rest[0].split())):
            rest.pop(0)
        if not rest:
            return line
        rest.pop(0)
    return None
