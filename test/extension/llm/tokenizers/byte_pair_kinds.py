# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Tokenizers of the package `tokenizers` with byte pair encoding, as published models have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from test.extension.llm.tokenizers.random_text import LINES, LLAMA_WORDS, WORDS

BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
SPLIT = pre_tokenizers.Split(Regex(LLAMA_WORDS), "isolated")
SENTENCES = decoders.Sequence(
    [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
)
KINDS: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "GPT-2": ({}, pre_tokenizers.ByteLevel(add_prefix_space=False), None),
    "GPT-2 with a prefix": ({}, pre_tokenizers.ByteLevel(add_prefix_space=True), None),
    "Llama 3": ({"ignore_merges": True}, pre_tokenizers.Sequence([SPLIT, BYTES]), None),
    "Qwen": ({}, pre_tokenizers.Sequence([SPLIT, BYTES]), normalizers.NFC()),
    "SmolLM": ({}, pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(False)]), None),
    "Llama 2": (
        {"byte_fallback": True, "fuse_unk": True, "unk_token": "<unk>"},
        None,
        normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]),
    ),
}


def trained(name: str, folder: Path) -> Tokenizer:
    """Return a tokenizer of a kind; `folder` has its file."""
    options, divided, normalizer = KINDS[name]
    tokenizer = Tokenizer(models.BPE(**options))
    is_bytes = divided is not None
    if is_bytes:
        tokenizer.pre_tokenizer = divided
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.ByteLevel() if is_bytes else SENTENCES
    special = ["<unk>", "<s>", "</s>", *([] if is_bytes else [f"<0x{byte:02X}>" for byte in range(256)])]
    alphabet = pre_tokenizers.ByteLevel.alphabet() if is_bytes else []
    texts = LINES if is_bytes else WORDS
    trainer = trainers.BpeTrainer(
        vocab_size=900, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    return tokenizer
