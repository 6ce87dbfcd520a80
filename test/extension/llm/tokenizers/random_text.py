# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Random text for comparing tokenizers: words of the documentation, rare characters, spaces of all kinds."""

from __future__ import annotations

import functools
import random
import unicodedata
from pathlib import Path

DOCS = sorted((Path(__file__).resolve().parents[4] / "docs").glob("*.md"))
LINES = [line for file in DOCS for line in file.read_text().splitlines()]
WORDS = [word for line in LINES for word in line.split(" ")]
PIECES = ["  ", "\n", "\r\n", "\t", "\u3000", "\u180e", "\u2028", "\x85", "'s", "'LL", "<s>", "</s>", "123456", "٣٤"]
PIECES += ["▁", " ▁", "don't", "ﬁ", "①", "Å", "[MASK]", " \n \n"]
RANGES = [(1, 0x2FFF), (0x300, 0x36F), (0x3000, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x1FFFF)]

LLAMA_WORDS = "|".join(
    (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    )
)


def random_text(rng: random.Random, dropped: tuple[str, ...] = ("Cn",)) -> str:
    """Text without characters of the categories `dropped`: libraries have different versions of Unicode, and characters
    that this Python does not know (Cn) are unassigned in some of them."""
    parts = []
    for _ in range(rng.randint(0, 12)):
        kind = rng.random()
        if kind < 0.35:
            parts.append(rng.choice(WORDS))
        elif kind < 0.5:
            parts.append(rng.choice(PIECES))
        elif kind < 0.9:
            parts.append(chr(rng.randint(*rng.choice(RANGES))))
        else:
            parts.append(rng.choice("abcXYZ019.,!?-_ "))
    return "".join(c for part in parts for c in part if unicodedata.category(c) not in dropped and not is_disputed(c))


@functools.cache
def is_disputed(character: str) -> bool:
    """Return whether versions of Unicode classify a character differently.

    Each package has its own version of Unicode and may lack category, decomposition and lower case of characters that
    are newer than version 3.2.
    """
    now, before = unicodedata.category(character), unicodedata.ucd_3_2_0.category(character)
    is_mapped = bool(unicodedata.decomposition(character)) or character.lower() != character
    is_vedic = "\u1cd0" <= character <= "\u1cff"  # marks that became letters
    return (now[0] == "P") != (before[0] == "P") or (before == "Cn" and (is_mapped or now[0] in "CM")) or is_vedic
