# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A small decoder that reads bytes, trained on Python's own documentation, and its tokenizer."""

import json
import pydoc_data.topics
import time
from pathlib import Path

import torch
import torch.nn.functional as F

from executorch.examples.models.llama.llama_transformer import Transformer
from executorch.examples.models.llama.model_args import ModelArgs

PARAMS = {
    "dim": 192, "n_layers": 4, "n_heads": 6, "n_kv_heads": 2, "hidden_dim": 512, "vocab_size": 258,
    "tie_word_embeddings": True, "use_hf_rope": True,
}  # fmt: skip
BOS, EOS = 256, 257
WINDOW = 128


def read_text() -> tuple[bytes, bytes]:
    """The texts of `help("topics")`: about 700 kB to train on, and the last 5 % to test with."""
    text = "\n\n".join(pydoc_data.topics.topics.values()).encode()
    cut = len(text) * 19 // 20
    return text[:cut], text[cut:]


def train(seconds: float) -> Transformer:
    """Return a decoder after `seconds` of training."""
    torch.manual_seed(0)
    model = Transformer(ModelArgs(**PARAMS, max_seq_len=WINDOW, generate_full_logits=True))
    for weight in model.parameters():
        if weight.dim() > 1:
            torch.nn.init.normal_(weight, std=0.02)
    data = torch.frombuffer(bytearray(read_text()[0]), dtype=torch.uint8).long()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.05)
    start = time.monotonic()
    steps = 0
    while (share := (time.monotonic() - start) / seconds) < 1:
        for group in optimizer.param_groups:
            group["lr"] = 3e-3 * min(1, steps / 20) * (1 - share) + 1e-5
        places = torch.randint(len(data) - WINDOW - 1, (16, 1)) + torch.arange(WINDOW + 1)
        batch = data[places]
        loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        steps += 1
    print(f"trained {steps} steps in {seconds:.0f} s: loss {loss:.3f} per byte")
    return model.eval()


def save(model: Transformer, folder: Path) -> None:
    """Write params.json, consolidated.pth and tokenizer.json: the files that exports and runners read."""
    (folder / "params.json").write_text(json.dumps(PARAMS))
    torch.save(model.state_dict(), folder / "consolidated.pth")
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = (byte for byte in range(256) if byte not in printable)
    characters = {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(others)}
    special = [("<s>", BOS), ("</s>", EOS)]
    options = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "post_processor": None,
        "added_tokens": [{"id": token, "content": content, **options} for content, token in special],
        "pre_tokenizer": level, "decoder": level,
        "model": {"type": "BPE", "vocab": {characters[i]: i for i in range(256)} | dict(special), "merges": []},
    }  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
