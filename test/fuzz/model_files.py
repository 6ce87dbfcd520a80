# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Small GGUF files and checkpoints of each kind, and their readers, for fuzz_readers.py."""

from __future__ import annotations

import io
import json
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import safetensors.torch
import torch

from executorch.extension.llm.export.gguf import GGUFType, read_gguf
from executorch.extension.llm.export.load import load_checkpoint


def from_file(read: Callable[[Path], Any], name: str) -> Callable[[bytes], Any]:
    """A reader of bytes that writes them to a file of this name."""

    def read_bytes(data: bytes) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(data)
            return read(path)

    return read_bytes


def read_gguf_values(path: Path) -> None:
    """Dequantize every tensor of a GGUF file."""
    for tensor in read_gguf(path).tensors.values():
        tensor.dequantize()


def read_index(path: Path) -> None:
    """Read a checkpoint of one shard by its index."""
    safetensors.torch.save_file({"a": torch.zeros(2)}, path.with_name("one.safetensors"))
    load_checkpoint(path)


def gguf_file() -> bytes:
    """A GGUF file with metadata of different types, nested arrays and one tensor of each type."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    values = [
        text("general.architecture") + struct.pack("<I", 8) + text("llama"),
        text("llama.block_count") + struct.pack("<II", 4, 2),
        text("llama.rope.freq_base") + struct.pack("<If", 6, 1e4),
        text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b"),
        text("nested") + struct.pack("<IIQ", 9, 9, 1) + struct.pack("<IQ", 0, 3) + b"abc",
    ]
    headers, content = [], b""
    for kind in GGUFType:
        headers.append(text(f"blk.0.{kind.name}.weight") + struct.pack("<IQQIQ", 2, 256, 2, kind, len(content)))
        content += bytes(4096)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(headers), len(values)) + b"".join(values + headers)
    return head + bytes(-len(head) % 32) + content


def safetensors_file() -> bytes:
    return safetensors.torch.save({"a": torch.ones(3, 4), "b": torch.ones(2, dtype=torch.bfloat16)})


def torch_file(zipped: bool) -> bytes:
    """A file of torch.save: an archive, or in the older format."""
    written = io.BytesIO()
    weights = {"model": {"a": torch.ones(3, 4), "b": torch.ones(5, dtype=torch.int8)}}
    torch.save(weights, written, _use_new_zipfile_serialization=zipped)
    return written.getvalue()


def index_file() -> bytes:
    return json.dumps({"metadata": {"total_size": 8}, "weight_map": {"a": "one.safetensors"}}).encode()


gguf_values = from_file(read_gguf_values, "model.gguf")
safetensors_checkpoint = from_file(load_checkpoint, "model.safetensors")
torch_checkpoint = from_file(load_checkpoint, "model.pth")
checkpoint_index = from_file(read_index, "model.safetensors.index.json")
