# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Words and constructions that docs/style.md refuses stay out of rewritten folders and become fewer in the others."""

import pytest
from house.words import (
    FREE_RELATIVE,
    PARAMETER_FIRST,
    REFUSED,
    ROOT,
    THIRD_PERSON,
    counts,
    prose,
    recorded,
    refused_openings,
    third_person_docstrings,
)


@pytest.fixture(scope="module")
def found() -> dict[str, int]:
    return counts()


def test_no_folder_has_more_refused_words_than_recorded(found: dict[str, int]) -> None:
    allowed = recorded()
    more = {
        folder: (number, allowed.get(folder, 0)) for folder, number in found.items() if number > allowed.get(folder, 0)
    }
    assert not more, f"folder: (found, allowed) {more}; `python test/house/words.py FOLDER` lists the places"


def test_the_record_names_no_clean_folder(found: dict[str, int]) -> None:
    clean = sorted(set(recorded()) - set(found))
    assert not clean, f"clean now: {clean}; run `python test/house/words.py --write`"


def test_the_page_on_style_lists_every_refused_word() -> None:
    page = (ROOT / "docs/style.md").read_text()
    assert not [
        words for words in (*REFUSED, THIRD_PERSON, FREE_RELATIVE, PARAMETER_FIRST) if f"| {words} |" not in page
    ]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("# the partitioner is told", "told, tells, is asked"),
        ("# `aten::lstm.input` and its kin", "its kin"),
        ("# kernels that the target has not.", "have not, for lack"),
        ("# the layout is no tensor's", "is no X's"),
        ("# What a backend returns", "a sentence that opens with What, Which, Whether or Who"),
        ("# Of several, the first", "Of several, the …"),
        ("# Of a tensor, without its sizes", "Of several, the …"),
        ("# Fuses products. Of quantized ones, also clamps", "Of several, the …"),
        ("# the output is no tensor", "is no X, where it is not an X"),
        ("# a size that is no multiple of a word", "is no X, where it is not an X"),
        ("# a value that is no integer", "is no X, where it is not an X"),
        ("# the argument is no pointer", "is no X, where it is not an X"),
        ("# where it gains, by Winograd's algorithm", "where it gains"),
        ("# rows quantized while running", "while running, for run time"),
        ("# As load(), for files", "As load(), As above"),
        ("# step 2 makes no sense", "makes no sense"),
        ("# results with elements of operands without.", "without, and no noun after it"),
        ("# Were E a buffer of size 4, it would fit.", "Were it X, for if it is X"),
        ("# solvers know nothing of tensors", "knows nothing of, lets go"),
        ("# the call lets go of its inputs", "knows nothing of, lets go"),
    ],
)
def test_a_refused_line_is_found(line: str, words: str) -> None:
    ((_, text),) = prose("file.py", line + "\n")
    assert REFUSED[words].search(text)


@pytest.mark.parametrize(
    "line",
    [
        "# it has not been read",
        "# Report what differs.",
        "# `told` is a name",
        "# Built without it.",
        "# There is no such X.",
        "# Files with and without.",
        "# until it gains ownership",
    ],
)
def test_a_plain_line_passes(line: str) -> None:
    ((_, text),) = prose("file.py", line + "\n")
    assert not [words for words, pattern in REFUSED.items() if pattern.search(text)]


def test_a_docstring_that_opens_with_an_adverb_or_a_field_is_found() -> None:
    code = 'class C:\n    """{}"""\n'
    line = "How a view is lowered."
    assert list(refused_openings(code.format(line))) == [(2, FREE_RELATIVE, line)]
    line = "size: in bytes."
    assert list(refused_openings(code.format(line))) == [(2, PARAMETER_FIRST, line)]
    line = "``size``: in bytes."
    assert list(refused_openings(code.format(line))) == [(2, PARAMETER_FIRST, line)]
    assert not list(refused_openings(code.format("Ways to lower a view.")))


def test_a_docstring_in_the_third_person_is_found() -> None:
    code = 'def f():\n    """{}"""\n'
    assert list(third_person_docstrings(code.format("Returns the sum."))) == [(2, "Returns the sum.")]
    assert not list(third_person_docstrings(code.format("Return the sum.")))
    assert not list(third_person_docstrings(code.format("Copies of the arguments.")))


@pytest.mark.parametrize(
    "line", ["# There is no such file.", "# errors are no larger", "# it is no different", "# results are no worse"]
)
def test_no_that_does_not_stand_for_not_passes(line: str) -> None:
    assert not REFUSED["is no X, where it is not an X"].search(line)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("  int a;  /// A byte count", "A byte count"),
        ("/* As load(), for bytes */", "As load(), for bytes"),
        (" * registered. */", "registered."),
        ('  fail("self[%" PRId64 "] is no index of a row", i);', "self[%] is no index of a row"),
        ("  a *= b;", ""),
        ('  name("short");', ""),
    ],
)
def test_comments_and_messages_of_c_sources_are_read(line: str, text: str) -> None:
    assert list(prose("file.h", line + "\n")) == [(1, text)]
