# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Random weights of a shape as a checkpoint for export_llama, and the same weights in a GGUF file.

``python checkpoints.py CHECKPOINT FILE.gguf TYPE`` writes the latter.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

# Our name behind "layers.N." → llama.cpp's behind "blk.N.".
_LAYER_NAMES = {
    "attention_norm.weight": "attn_norm.weight",
    "ffn_norm.weight": "ffn_norm.weight",
    "attention.wq.weight": "attn_q.weight",
    "attention.wk.weight": "attn_k.weight",
    "attention.wv.weight": "attn_v.weight",
    "attention.wo.weight": "attn_output.weight",
    "attention.q_norm.weight": "attn_q_norm.weight",
    "attention.k_norm.weight": "attn_k_norm.weight",
    "feed_forward.w1.weight": "ffn_gate.weight",
    "feed_forward.w2.weight": "ffn_down.weight",
    "feed_forward.w3.weight": "ffn_up.weight",
}


def write_checkpoint(shape: Any, path: Path) -> None:
    """Write weights drawn with a fixed seed, and `params.json` beside them."""
    import torch

    generator = torch.Generator().manual_seed(0)

    def matrix(rows: int, columns: int) -> torch.Tensor:
        return torch.randn(rows, columns, generator=generator) * columns**-0.5

    weights = {"tok_embeddings.weight": matrix(shape.vocabulary, shape.dim), "norm.weight": torch.ones(shape.dim)}
    weights["output.weight"] = weights["tok_embeddings.weight"]
    queries, keys = shape.heads * shape.channels, shape.key_heads * shape.channels
    for layer in range(shape.layers):
        matrices = {
            "attention.wq": (queries, shape.dim),
            "attention.wk": (keys, shape.dim),
            "attention.wv": (keys, shape.dim),
            "attention.wo": (shape.dim, queries),
            "feed_forward.w1": (shape.hidden, shape.dim),
            "feed_forward.w2": (shape.dim, shape.hidden),
            "feed_forward.w3": (shape.hidden, shape.dim),
        }
        for name, sizes in matrices.items():
            weights[f"layers.{layer}.{name}.weight"] = matrix(*sizes)
        norms = {"attention_norm": shape.dim, "ffn_norm": shape.dim}
        if shape.is_qwen:
            norms |= {"attention.q_norm": shape.channels, "attention.k_norm": shape.channels}
        for name, size in norms.items():
            weights[f"layers.{layer}.{name}.weight"] = torch.ones(size)
    torch.save(weights, path)
    path.with_name("params.json").write_text(json.dumps(shape.params()))


def with_names_of_peer(path: Path) -> Path:
    """Return the checkpoint with the names that the peer has for the norms of queries and keys."""
    import torch

    renamed = path.with_name("peer.pth")
    if not renamed.exists():
        weights = torch.load(path, mmap=True, weights_only=True)
        torch.save(
            {
                name.replace("_norm.weight", "_norm_fn.weight") if ".attention." in name else name: weight
                for name, weight in weights.items()
            },
            renamed,
        )
    return renamed


def write_gguf(checkpoint: Path, path: Path, kind: str) -> None:
    """Write the checkpoint with matrices of a type of llama.cpp: F32, Q4_0, Q8_0. The file has no vocabulary."""
    import gguf
    import numpy as np
    import torch

    params = json.loads(checkpoint.with_name("params.json").read_text())
    writer = gguf.GGUFWriter(path, "qwen3" if params.get("use_qk_norm") else "llama")
    writer.add_context_length(1 << 15)
    writer.add_embedding_length(params["dim"])
    writer.add_block_count(params["n_layers"])
    writer.add_feed_forward_length(params["hidden_dim"])
    writer.add_head_count(params["n_heads"])
    writer.add_head_count_kv(params["n_kv_heads"])
    writer.add_key_length(params["head_dim"])
    writer.add_value_length(params["head_dim"])
    writer.add_rope_dimension_count(params["head_dim"])
    writer.add_rope_freq_base(params["rope_theta"])
    writer.add_layer_norm_rms_eps(params["norm_eps"])
    writer.add_vocab_size(params["vocab_size"])
    writer.add_tokenizer_model("none")
    chosen = gguf.GGMLQuantizationType[kind]
    for name, weight in torch.load(checkpoint, mmap=True, weights_only=True).items():
        if name == "output.weight":  # llama.cpp takes the embedding
            continue
        values = weight.numpy()
        if values.ndim == 1:
            writer.add_tensor(_gguf_name(name), values)
        else:
            data = np.ascontiguousarray(gguf.quants.quantize(values, chosen))
            writer.add_tensor(_gguf_name(name), data, raw_dtype=chosen)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _gguf_name(name: str) -> str:
    if name.startswith("layers."):
        _, layer, rest = name.split(".", 2)
        return f"blk.{layer}.{_LAYER_NAMES[rest]}"
    return {"tok_embeddings.weight": "token_embd.weight", "norm.weight": "output_norm.weight"}[name]


if __name__ == "__main__":
    write_gguf(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
