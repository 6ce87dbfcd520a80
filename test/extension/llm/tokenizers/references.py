# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Tokenizer files, each with the Python package that defines its format; and a comparison on random text.

python -m test.extension.llm.tokenizers.references LINES [NAME...]      # that many lines for each name; all without one
"""

from __future__ import annotations

import base64
import functools
import random
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tiktoken
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from executorch.extension.llm.runner import Tokenizer as Ours
from test.extension.llm.tokenizers.random_text import LINES, LLAMA_WORDS, random_text


@dataclass(frozen=True)
class Reference:
    """`options`: how `Tokenizer` opens the file; `bos`, `eos`: how often the tokens are around what `encode` gives."""

    path: Path
    encode: Callable[[str], list[int]]
    decode: Callable[[list[int]], str] | None
    options: dict[str, Any] = field(default_factory=dict)
    bos: int = 0
    eos: int = 0
    dropped: tuple[str, ...] = ("Cn",)


@functools.cache
def byte_ranks(size: int) -> dict[bytes, int]:
    """A byte-level vocabulary: pieces with the order of merges."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(LLAMA_WORDS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        LINES, trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)
    )
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    byte_of = {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}
    return {bytes(byte_of[c] for c in piece): rank for piece, rank in made.get_vocab().items()}


def write_tiktoken(path: Path, ranks: dict[bytes, int]) -> Path:
    path.write_text("".join(f"{base64.b64encode(piece).decode()} {rank}\n" for piece, rank in ranks.items()))
    return path


def tiktoken_reference(folder: Path) -> Reference:
    ranks = byte_ranks(900)
    special = ["<|begin|>", "<|end|>", "<s>", "</s>"]
    ids = {text: len(ranks) + i for i, text in enumerate(special)}
    reference = tiktoken.Encoding("test", pat_str=LLAMA_WORDS, mergeable_ranks=ranks, special_tokens=ids)
    return Reference(
        write_tiktoken(folder / "tokenizer.model", ranks),
        lambda text: [ids["<|begin|>"], *reference.encode(text, allowed_special="all"), ids["<|end|>"]],
        reference.decode,
        {"special_tokens": special, "pattern": LLAMA_WORDS},
        bos=1,
        eos=1,
    )


REFERENCES: dict[str, Callable[[Path], Reference]] = {"tiktoken": tiktoken_reference}


def compare(name: str, folder: Path, count: int) -> None:
    """Raise AssertionError for the first text on which the two disagree."""
    reference = REFERENCES[name](folder)
    ours = Ours(str(reference.path), **reference.options)
    rng = random.Random(name)
    for _ in range(count):
        text = random_text(rng, reference.dropped)
        expected = reference.encode(text)
        assert ours.encode(text, reference.bos, reference.eos) == expected, (name, text)
        if reference.decode is not None:
            assert ours.decode(expected) == reference.decode(expected), (name, text)


if __name__ == "__main__":
    for each in sys.argv[2:] or REFERENCES:
        with tempfile.TemporaryDirectory() as temporary:
            compare(each, Path(temporary), int(sys.argv[1]))
        print(f"{each}: {sys.argv[1]} lines equal", flush=True)
