# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Tokenizer files, each with the Python package that defines its format; and a comparison on random text.

python -m test.extension.llm.tokenizers.references LINES [NAME...]      # that many lines for each name; all without one
"""

from __future__ import annotations

import base64
import functools
import io
import json
import random
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sentencepiece
import tiktoken
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from executorch.extension.llm.runner import Tokenizer as Ours
from test.extension.llm.tokenizers.byte_alphabet import CHARACTERS
from test.extension.llm.tokenizers.byte_pair_kinds import KINDS, trained
from test.extension.llm.tokenizers.random_text import LINES, LLAMA_WORDS, random_text


@dataclass(frozen=True)
class Reference:
    """A tokenizer file, and another implementation that reads it.

    `options`: how `Tokenizer` opens the file; `bos`, `eos`: how often the tokens are around what `encode` gives.
    """

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
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(LLAMA_WORDS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=CHARACTERS, show_progress=False)
    tokenizer.train_from_iterator(LINES, trainer)
    return {bytes(map(CHARACTERS.index, piece)): rank for piece, rank in tokenizer.get_vocab().items()}


def write_tiktoken(path: Path, ranks: dict[bytes, int]) -> Path:
    """Write the tokens by rank, single bytes first, like published files. `ranks` may have any order."""
    lines = (
        f"{base64.b64encode(piece).decode()} {rank}\n"
        for piece, rank in sorted(ranks.items(), key=lambda item: item[1])
    )
    path.write_text("".join(lines))
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


def write_tekken(path: Path, ranks: dict[bytes, int], special: dict[str, int] | None, count: int) -> Path:
    """Write a tekken file.

    `special`: names and numbers of special tokens; `count` of them exist, with or without names.
    """
    tokens = [
        {"rank": rank, "token_bytes": base64.b64encode(piece).decode(), "token_str": piece.decode("utf-8", "replace")}
        for piece, rank in sorted(ranks.items(), key=lambda entry: entry[1])
    ]
    config = {
        "pattern": LLAMA_WORDS,
        "num_vocab_tokens": len(ranks),
        "default_vocab_size": len(ranks) - 40 + count,
        "default_num_special_tokens": count,
        "version": "v7",
    }
    content: dict[str, Any] = {"config": config, "vocab": tokens}
    if special is not None:
        content["special_tokens"] = [
            {"rank": rank, "token_str": text, "is_control": True} for text, rank in special.items()
        ]
    path.write_text(json.dumps(content))
    return path


def tekken_reference(folder: Path) -> Reference:
    """Read as mistral-common does: cut the vocabulary at default_vocab_size, put special tokens first."""
    special, count = {"<unk>": 0, "<s>": 1, "</s>": 2, "[INST]": 3}, 20
    ranks = byte_ranks(900)
    path = write_tekken(folder / "tekken.json", ranks, special, count)
    kept = {piece: rank for piece, rank in ranks.items() if rank < len(ranks) - 40}
    ids = {text: rank + len(kept) for text, rank in special.items()}
    reference = tiktoken.Encoding("tekken", pat_str=LLAMA_WORDS, mergeable_ranks=kept, special_tokens=ids)

    def encode(text: str) -> list[int]:
        tokens = reference.encode(text, allowed_special="all")
        return [1, *(token - len(kept) if token >= len(kept) else token + count for token in tokens)]

    def decode(tokens: list[int]) -> str:
        return reference.decode([token + len(kept) if token < count else token - count for token in tokens])

    return Reference(path, encode, decode, bos=1)


SENTENCEPIECES: dict[str, dict[str, Any]] = {
    "sentencepiece unigram": {"model_type": "unigram", "user_defined_symbols": ["<sep>", "foo bar", "export"]},
    "sentencepiece BPE": {"model_type": "bpe", "user_defined_symbols": ["<sep>", "foo bar", "export"]},
    "sentencepiece unigram, bytes": {"model_type": "unigram", "byte_fallback": True, "split_digits": True},
    "sentencepiece BPE as Llama 2": {
        "model_type": "bpe",
        "byte_fallback": True,
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
        "allow_whitespace_only_pieces": True,
    },
    "sentencepiece unigram, suffix": {
        "model_type": "unigram",
        "treat_whitespace_as_suffix": True,
        "normalization_rule_name": "nmt_nfkc_cf",
    },
    "sentencepiece BPE without a prefix": {
        "model_type": "bpe",
        "add_dummy_prefix": False,
        "normalization_rule_name": "nfkc",
    },
}


@functools.cache
def sentencepiece_model(name: str) -> bytes:
    """A model trained on the documentation; nearly every text has characters that it does not know."""
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(LINES),
        model_writer=written,
        vocab_size=1200,
        hard_vocab_limit=False,
        num_threads=1,
        minloglevel=2,
        **SENTENCEPIECES[name],
    )
    return written.getvalue()


def sentencepiece_reference(name: str, folder: Path) -> Reference:
    path = folder / "tokenizer.model"
    path.write_bytes(sentencepiece_model(name))
    reference = sentencepiece.SentencePieceProcessor(model_file=str(path))
    options = SENTENCEPIECES[name]
    # Behind the first token, decoding a text leaves out spaces that single tokens have.
    decodes = not options.get("remove_extra_whitespaces", True)
    return Reference(
        path,
        lambda text: reference.encode(text, add_bos=True, add_eos=True),
        reference.decode if decodes else None,
        bos=1,
        eos=1,
    )


def unigram_of(model: str, **options: Any) -> Tokenizer:
    """A Unigram model with the pieces of a sentencepiece model."""
    reference = sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_model(model))
    pieces = [(reference.id_to_piece(i), reference.get_score(i)) for i in range(reference.get_piece_size())]
    tokenizer = Tokenizer(models.Unigram(pieces, reference.unk_id(), **options))
    tokenizer.add_special_tokens(["<s>", "</s>"])
    return tokenizer


def char_map_of(model: str) -> bytes:
    """The map of characters in a sentencepiece model: field 2 of field 3 of the message."""

    def number(data: bytes, at: int) -> tuple[int, int]:
        value, shift = 0, 0
        while True:
            value |= (data[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if data[at - 1] < 128:
                return value, at

    def field_of(data: bytes, wanted: int) -> bytes:
        at = 0
        while True:
            tag, at = number(data, at)
            if tag & 7 == 5:
                at += 4
            elif tag & 7 == 0:
                _, at = number(data, at)
            else:
                size, at = number(data, at)
                if tag >> 3 == wanted:
                    return data[at : at + size]
                at += size

    return field_of(field_of(sentencepiece_model(model), 3), 2)


def word_pieces(**options: Any) -> Tokenizer:
    """A WordPiece model as of BERT."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=12))  # type: ignore[call-arg]
    tokenizer.normalizer = normalizers.BertNormalizer(**options)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=800, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(LINES, trainer)
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    cls, sep = (tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", cls), ("[SEP]", sep)]
    )
    return tokenizer


def cased_word_pieces() -> Tokenizer:
    tokenizer = word_pieces(lowercase=False, strip_accents=True)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Whitespace(), pre_tokenizers.Punctuation("contiguous")]
    )
    tokenizer.add_tokens([AddedToken("export", single_word=True), AddedToken("TENSOR", normalized=True)])
    return tokenizer


def t5() -> Tokenizer:
    tokenizer = unigram_of("sentencepiece unigram")
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Precompiled(char_map_of("sentencepiece unigram")), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    tokenizer.add_special_tokens([AddedToken("[MASK]", lstrip=True, rstrip=True), AddedToken("123456", lstrip=True)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    return tokenizer


def albert() -> Tokenizer:
    tokenizer = unigram_of("sentencepiece unigram, bytes", byte_fallback=True)
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Nmt(),
            normalizers.NFKD(),
            normalizers.StripAccents(),
            normalizers.Strip(),
            normalizers.Lowercase(),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always", split=False)]
    )
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="always")])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 1))
    return tokenizer


def around_texts(made: Tokenizer) -> Tokenizer:
    ids = [(token, made.token_to_id(token)) for token in ("<s>", "</s>")]
    made.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=ids)
    return made


def word_level() -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))  # type: ignore[call-arg]
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    special = ["[UNK]", "<s>", "</s>"]
    tokenizer.train_from_iterator(
        LINES, trainers.WordLevelTrainer(vocab_size=900, special_tokens=special, show_progress=False)
    )
    return around_texts(tokenizer)


def byte_pairs_with_affixes(fuse_unk: bool, **affixes: str) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=fuse_unk, **affixes))  # type: ignore[arg-type]
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = ["<unk>", "<s>", "</s>"]
    tokenizer.train_from_iterator(
        LINES, trainers.BpeTrainer(vocab_size=1200, special_tokens=special, show_progress=False, **affixes)
    )
    return around_texts(tokenizer)


AFFIXES = {"continuing_subword_prefix": "##", "end_of_word_suffix": "</w>"}
HUGGING_FACES: dict[str, Callable[[], Tokenizer]] = {
    "WordLevel": word_level,
    "BPE with affixes": functools.partial(byte_pairs_with_affixes, False, **AFFIXES),
    "BPE with a prefix, fused unknown": functools.partial(
        byte_pairs_with_affixes, True, continuing_subword_prefix="##"
    ),
    "WordPiece": word_pieces,
    "WordPiece, cased": cased_word_pieces,
    "Unigram as T5": t5,
    "Unigram as ALBERT": albert,
}


def hugging_face_reference(name: str, folder: Path) -> Reference:
    reference = HUGGING_FACES[name]()
    path = folder / "tokenizer.json"
    reference.save(str(path))
    # Marks join other characters by rules that changed between versions of Unicode.
    return Reference(
        path,
        lambda text: reference.encode(text).ids,
        lambda tokens: str(reference.decode(tokens, skip_special_tokens=False)),
        bos=1,
        eos=1,
        dropped=("Cn", "Mn", "Mc"),
    )


def byte_pair_reference(name: str, folder: Path) -> Reference:
    reference = trained(name, folder)
    return Reference(
        folder / "tokenizer.json",
        lambda text: reference.encode(text, add_special_tokens=False).ids,
        lambda tokens: str(reference.decode(tokens, skip_special_tokens=False)),
        dropped=("Cn", "Mn"),
    )


REFERENCES: dict[str, Callable[[Path], Reference]] = {
    "tiktoken": tiktoken_reference,
    "tekken": tekken_reference,
    **{name: functools.partial(sentencepiece_reference, name) for name in SENTENCEPIECES},
    **{name: functools.partial(hugging_face_reference, name) for name in HUGGING_FACES},
    **{f"BPE as {name}": functools.partial(byte_pair_reference, name) for name in KINDS},
}


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
    for name in sys.argv[2:] or REFERENCES:
        with tempfile.TemporaryDirectory() as temporary:
            compare(name, Path(temporary), int(sys.argv[1]))
        print(f"{name}: {sys.argv[1]} lines equal", flush=True)
