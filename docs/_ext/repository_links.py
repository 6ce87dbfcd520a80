# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Point links at documents of the repository's root to the site's pages that include them.

On GitHub the same links lead to the documents themselves.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    "SECURITY.md": "docs/security.md",
    "CHANGELOG.md": "docs/changelog.md",
    "CONTRIBUTING.md": "docs/contributing/index.md",
    "README.md": "docs/index.md",
}
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s#:]+)(#[^)\s]*)?\)")


def rewrite(text: str, folder: str) -> str:
    """Return Markdown of `folder` with links that the site can follow; a link to another file becomes its name."""

    def link(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, match[2]))
        if target in PAGES:
            return f"[{match[1]}]({posixpath.relpath(PAGES[target], folder)})"
        if target.startswith("docs/") or not (ROOT / target).exists():
            return match[0]
        return f"{match[1]} (`{target}`)"

    return _LINK.sub(link, text)


def _read(app: Sphinx, name: str, content: list[str]) -> None:
    content[0] = rewrite(content[0], posixpath.dirname(f"docs/{name}"))


def _include(app: Sphinx, path: Path, parent: str, content: list[str]) -> None:
    included = ROOT / "docs" / path
    if included.suffix == ".md":
        content[0] = rewrite(content[0], included.resolve().parent.relative_to(ROOT).as_posix())


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the rewriting."""
    app.connect("source-read", _read)
    app.connect("include-read", _include)
    return {"parallel_read_safe": True}
