# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Models in PyTorch to export: one that is trained here, or one in a local Hugging Face folder."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from evaluate import Logits
from model import save, train


@dataclass(frozen=True)
class Eager:
    """A model in PyTorch, and the options of `export_llm` that name its files."""

    logits_of: Logits
    encode: Callable[[str], list[int]]
    decode: Callable[[list[int]], str]
    tokenizer: Path
    files: list[str]


def train_bytes(seconds: float, folder: Path) -> Eager:
    """Train a decoder of bytes and write its files to the folder."""
    model = train(seconds)
    save(model, folder)
    return Eager(
        model,
        lambda text: list(text.encode()),
        lambda tokens: bytes(token for token in tokens if token < 256).decode("utf-8", "backslashreplace"),
        folder / "tokenizer.json",
        [f"base.checkpoint={folder}/consolidated.pth", f"base.params={folder}/params.json"],
    )


def open_hugging_face(folder: Path) -> Eager:
    """Open the model and the tokenizer in a local folder."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return Eager(
        lambda tokens: model(tokens).logits,
        lambda text: tokenizer.encode(text, add_special_tokens=False),
        lambda tokens: tokenizer.decode(tokens, clean_up_tokenization_spaces=False),
        folder,
        [f"base.checkpoint={folder}"],
    )
