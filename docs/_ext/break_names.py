# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Let long names in code and headings break between their words, and options never after a hyphen."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# The text of inline code, words of headings, and options in text: a word with a dot or an underscore is a name.
_CODE = re.compile(r'(?<=<span class="pre">)[^<]+(?=</span>)')
_HEADING = re.compile(r"(?<=<h\d>)[^<]+")
_PARAGRAPH = re.compile(r"(?<=<p>)[^<]+")
_NAME = re.compile(r"\S*[._]\S+")
_MACRO = re.compile(r"\b[A-Z]+(?:_[A-Z]+)+\b")
# After a separator, and between the words of CamelCase; not before the suffix of a file.
_BREAK = re.compile(r"(?<=[/_:,({=])(?=\w)|(?<=\w\.)(?=\w{4})|(?<=[a-z0-9])(?=[A-Z])")
# Such as &gt;, which is one character.
_REFERENCE = re.compile(r"(&#?\w+;)")
_OPTION = re.compile(r"^-+\w")
_OPTION_IN_TEXT = re.compile(r"(?<![\w-])--\w")
_BREAKABLE = "<wbr />"


def breakable(name: str) -> str:
    """Return the HTML of a name with the places where a line may break."""
    parts = [part if _REFERENCE.fullmatch(part) else _BREAK.sub(_BREAKABLE, part) for part in _REFERENCE.split(name)]
    return _OPTION.sub(_unbroken, "".join(parts))


def _breakable(name: re.Match[str]) -> str:
    return breakable(name[0])


def _unbroken(hyphens: re.Match[str]) -> str:
    return f'<span class="unbroken">{hyphens[0]}</span>'


def rewrite(body: str) -> str:
    """Return a page's HTML with breakable names."""
    body = _CODE.sub(lambda code: breakable(code[0]), body)
    body = _PARAGRAPH.sub(lambda text: _OPTION_IN_TEXT.sub(_unbroken, _MACRO.sub(_breakable, text[0])), body)
    return _HEADING.sub(lambda text: _NAME.sub(_breakable, text[0]), body)


def _page(app: Sphinx, name: str, template: str, context: dict[str, object], doctree: object) -> None:
    if "body" in context:
        context["body"] = rewrite(str(context["body"]))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the rewriting."""
    app.connect("html-page-context", _page)
    return {"parallel_read_safe": True}
