# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Words and constructions that docs/style.md refuses, and how often each folder still has them.

`python test/house/words.py` lists the places, `--write` records the present counts in `words.json`.
"""

import ast
import collections
import io
import json
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORD = Path(__file__).with_name("words.json")

# "is no larger" compares; "is no integer" stands for "is not an integer".
_COMPARATIVES = (
    "longer|more|less|fewer|better|worse|larger|smaller|bigger|greater|higher|lower|deeper|wider|narrower|tighter|looser"
    "|closer|farther|further|faster|slower|quicker|cheaper|simpler|safer|stricter|later|earlier|sooner|older|newer|shorter"
)

# The words as docs/style.md lists them → the pattern that finds them.
REFUSED = {
    "told, tells, is asked": re.compile(r"\b(told|tells|(is|are|was|were|be|been) asked(?! for))\b", re.I),
    "its kin": re.compile(r"\bkin\b", re.I),
    # Without an object: "until it gains ownership" passes.
    "where it gains": re.compile(r"\b(it|they|that|Winograd) gains?(?=[.,;:)]| *$)|\bgains? by\b", re.I),
    "while running, for run time": re.compile(
        r"\b(chosen|computed|converted|quantized) while (running|it runs)\b", re.I
    ),
    "have not, for lack": re.compile(r"\b(have|has|had) not(?= (a|an|the|any|what|all)\b|[.,;:)]|$)", re.I),
    "is no X's": re.compile(r"\b(is|are) no \w+'s?(?!\w)", re.I),
    "is no X, where it is not an X": re.compile(
        rf"(?<!there )\b(is|are|was|were) no (?!({_COMPARATIVES}|different|doubt|one|such)\b)[a-z]\w*", re.I
    ),
    "what is there, what it is": re.compile(r"\bwhat (is there|are there|it is|they are|it has|they have)\b", re.I),
    "Of several, the …": re.compile(r"(^\W*|[.:;] )Of (?!course)\w"),
    "As load(), As above": re.compile(r"^\W*As (above|below|before|eager|torch|the (package|reference)|[\w:]+\(\))"),
    "makes no sense": re.compile(r"\bmakes? no sense\b", re.I),
    "without, and no noun after it": re.compile(r"(?<!\bwith and )(?<!\bwith or )\bwithout(?=[.,;:)])"),
    "Were it X, for if it is X": re.compile(r"(^|[.;:] )(Were|Had) (it|they|the|a|an|[A-Z])\b(?![^.]*\?)"),
    "knows nothing of, lets go": re.compile(r"\bknows? nothing of\b|\b(let|lets|letting) go\b", re.I),
    "as … else": re.compile(r"\b(as|than) [\w ]{3,40} else\b(?! (if|branch|block|case))", re.I),
    "a sentence that opens with What, Which, Whether or Who": re.compile(
        r"^(?![#|])\W*(What|Which|Whether|Who|Whose) [\w`][^?]*$"  # headings and questions may
    ),
}
# One word of each construction. Most lines lack all of them, and this search is faster than those above.
_HAS_A_WORD = re.compile(
    r"\b(told|tells|asked|kin|not|no|what|of|as|makes? no sense|else|which|whether|who|whose|without|were|had|go)\b",
    re.I,
)
_HAS_A_VERB = re.compile(r"\b(gains?|running|runs)\b", re.I)
# The first word of a function's docstring; nouns of the same form ("Copies of …") stand before "of".
THIRD_PERSON = "a function's docstring that opens with Returns, Gives, Writes"
OPENING_VERB = re.compile(
    r"(Adds|Appends|Applies|Begins|Builds|Calls|Checks|Compares|Compiles|Computes|Configures|Converts|Copies|Creates|Emits"
    r"|Encodes|Ends|Exports|Extracts|Fetches|Fills|Finds|Gives|Goes|Inserts|Installs|Leaves|Loads|Lowers|Makes|Measures"
    r"|Moves|Prepares|Prints|Puts|Raises|Reads|Records|Removes|Repeats|Replaces|Reports|Returns|Runs|Sets|Simulates|Stands"
    r"|Starts|Stores|Takes|Tests|Trains|Turns|Unpacks|Verifies|Waits|Writes)\b(?! (of|to)\b)"
)
# The first words of any docstring: a noun phrase names the thing instead ("Ways to …", "Number of …").
FREE_RELATIVE = "a docstring that opens with How, Where, Why, When"
OPENING_ADVERB = re.compile(r"(How|Where|Why|When) [^?]*$")
PARAMETER_FIRST = "a docstring that opens with a parameter or field"
OPENING_PARAMETER = re.compile(r"(`*)[a-z_]+\1(, \1[a-z_]+\1)*: ")
SUFFIXES = (".py", ".pyi", ".h", ".cpp", ".cc", ".c", ".inc", ".md", ".cmake", ".sh", ".fbs")
# Notes of old releases, and the files that quote the words.
LEFT_OUT = ("CHANGELOG.md", "docs/style.md", "test/house/words.py", "test/house/test_words.py")


def _files() -> list[str]:
    command = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    named = [name for name in sorted(set(listed)) if name.endswith(SUFFIXES) and name not in LEFT_OUT]
    return [name for name in named if (ROOT / name).is_file()]  # git lists deleted files too


@lru_cache(maxsize=1)
def _nodes(text: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(text)))


def _python(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("#! ")
    for node in _nodes(text):
        # Docstrings and messages; a short string is a name or a key.
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and " " in node.value
            and len(node.value) > 25
        ):
            for offset, line in enumerate(node.value.splitlines()):
                yield node.lineno + offset, line.strip()


def _comments(text: str, mark: str) -> Iterator[tuple[int, str]]:
    mark = rf"(?:^|\s){mark}+!?\s?(.*)" + (r"|^\s*/?\*+\s(.*?)(?:\*/)?$" if mark == "//" else "")
    for number, line in enumerate(text.splitlines(), 1):
        match = re.search(mark, line)
        comment = next((part for part in match.groups() if part is not None), "") if match else ""
        # Macros such as PRId64 divide a message into several strings.
        message = "".join(re.findall(r'"([^"]*)"', line))
        yield number, f"{comment} {message if len(message) >= 25 else ''}".strip()


def _markdown(text: str) -> Iterator[tuple[int, str]]:
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        is_code ^= line.lstrip().startswith("```")
        if not is_code:
            yield number, line.strip()


def prose(name: str, text: str) -> Iterator[tuple[int, str]]:
    """Return the numbered lines of comments, docstrings, messages or documentation of a file, without quoted code."""
    if name.endswith((".py", ".pyi")):
        lines = _python(text)
    elif name.endswith(".md"):
        lines = _markdown(text)
    else:
        lines = _comments(text, "#" if name.endswith((".cmake", ".sh")) else "//")
    for number, line in lines:
        yield number, re.sub(r"`[^`]*`", "``", line)


def third_person_docstrings(text: str) -> Iterator[tuple[int, str]]:
    """Return the numbered first lines of functions' docstrings that open with a verb in the third person."""
    for node in _nodes(text):
        docstring = ast.get_docstring(node) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None
        if docstring and OPENING_VERB.match(docstring):
            yield node.body[0].lineno, docstring.splitlines()[0]


def refused_openings(text: str) -> Iterator[tuple[int, str, str]]:
    """Return (line, refused words, first line) of docstrings that open with an adverb, a parameter or a field."""
    for node in _nodes(text):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        first = (ast.get_docstring(node) or "").partition("\n")[0]
        if OPENING_ADVERB.match(first):
            yield node.body[0].lineno, FREE_RELATIVE, first
        elif OPENING_PARAMETER.match(first) and not isinstance(node, ast.Module):
            yield node.body[0].lineno, PARAMETER_FIRST, first


def folder_of(name: str) -> str:
    """Return the folder under which a file is counted: its first two, or its only one."""
    return "/".join(Path(name).parts[:-1][:2]) or "."


def places() -> list[tuple[str, int, str, str]]:
    """Return (file, line, refused words, text) of every place."""
    violations = []
    for name in _files():
        text = (ROOT / name).read_text()
        for number, line in prose(name, text):
            if _HAS_A_WORD.search(line) or _HAS_A_VERB.search(line):
                violations += [
                    (name, number, words, line) for words, pattern in REFUSED.items() if pattern.search(line)
                ]
        if name.endswith((".py", ".pyi")):
            violations += [(name, number, THIRD_PERSON, line) for number, line in third_person_docstrings(text)]
            violations += [(name, *opening) for opening in refused_openings(text)]
    return violations


def counts() -> dict[str, int]:
    """Return the number of places of each folder that has any."""
    return dict(sorted(collections.Counter(folder_of(name) for name, *_ in places()).items()))


def recorded() -> dict[str, int]:
    """Return the counts that `words.json` allows."""
    allowed: dict[str, int] = json.loads(RECORD.read_text())
    return allowed


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        RECORD.write_text(json.dumps(counts(), indent=1) + "\n")
    else:
        for name, number, words, line in places():
            if not sys.argv[1:] or name.startswith(tuple(sys.argv[1:])):
                print(f"{name}:{number}: {words}: {line[:120]}")
