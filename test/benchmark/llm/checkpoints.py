# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Random weights of a shape as a checkpoint for export_llama, and the same weights in files of other engines.

``python checkpoints.py CHECKPOINT FILE.gguf TYPE`` writes a GGUF file, ``python checkpoints.py CHECKPOINT FILE.gguf
TYPE-vocabulary`` one with a vocabulary, and ``python checkpoints.py CHECKPOINT FOLDER hugging-face`` a folder of
transformers.
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
# Our name behind "layers.N." → transformers' behind "model.layers.N.".
_HUGGING_FACE_NAMES = {
    "attention_norm.weight": "input_layernorm.weight",
    "ffn_norm.weight": "post_attention_layernorm.weight",
    "attention.wq.weight": "self_attn.q_proj.weight",
    "attention.wk.weight": "self_attn.k_proj.weight",
    "attention.wv.weight": "self_attn.v_proj.weight",
    "attention.wo.weight": "self_attn.o_proj.weight",
    "attention.q_norm.weight": "self_attn.q_norm.weight",
    "attention.k_norm.weight": "self_attn.k_norm.weight",
    "feed_forward.w1.weight": "mlp.gate_proj.weight",
    "feed_forward.w2.weight": "mlp.down_proj.weight",
    "feed_forward.w3.weight": "mlp.up_proj.weight",
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


def write_gguf(checkpoint: Path, path: Path, kind: str, with_vocabulary: bool = False) -> None:
    """Write the checkpoint with matrices of a type of llama.cpp: F32, F16, BF16, Q4_0, Q8_0."""
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
    if with_vocabulary:
        _add_vocabulary(writer, params["vocab_size"])
        writer.add_file_type(gguf.LlamaFileType[f"MOSTLY_{kind}"])
    else:
        writer.add_tokenizer_model("none")
    chosen = gguf.GGMLQuantizationType[kind]
    for name, weight in torch.load(checkpoint, mmap=True, weights_only=True).items():
        if name == "output.weight":  # readers take the embedding
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


def _vocabulary(size: int) -> list[str]:
    """Return special tokens, the characters of byte-level BPE, and placeholders."""
    from tokenizers.pre_tokenizers import ByteLevel

    tokens = ["<pad>", "<s>", "</s>", *sorted(ByteLevel.alphabet())]
    return (tokens + [f"token{i}" for i in range(len(tokens), size)])[:size]


def _add_vocabulary(writer: Any, size: int) -> None:
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(_vocabulary(size))
    writer.add_token_types([3, 3, 3] + [1] * (size - 3))  # 3: control, 1: normal
    writer.add_token_merges(["h i"])
    writer.add_pad_token_id(0)
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(False)
    writer.add_chat_template("{{ messages[0].content }}")


def write_hugging_face(checkpoint: Path, folder: Path) -> None:
    """Write the checkpoint as a folder that transformers loads."""
    import torch
    from safetensors.torch import save_file

    folder.mkdir(exist_ok=True)
    params = json.loads(checkpoint.with_name("params.json").read_text())
    heads = {"attention.wq.weight": params["n_heads"], "attention.wk.weight": params["n_kv_heads"]}
    is_qwen = bool(params.get("use_qk_norm"))
    weights = {}
    for name, weight in torch.load(checkpoint, mmap=True, weights_only=True).items():
        if name == "output.weight":
            continue
        own = name.split(".", 2)[-1]
        if own in heads and not is_qwen:  # from rotations of neighbors to rotations of halves
            weight = weight.unflatten(0, (heads[own], -1, 2)).transpose(1, 2).flatten(0, 2)
        weights[_hugging_face_name(name)] = weight.contiguous()
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    config = {
        "architectures": ["Qwen3ForCausalLM" if is_qwen else "LlamaForCausalLM"],
        "model_type": "qwen3" if is_qwen else "llama",
        "hidden_size": params["dim"],
        "intermediate_size": params["hidden_dim"],
        "num_hidden_layers": params["n_layers"],
        "num_attention_heads": params["n_heads"],
        "num_key_value_heads": params["n_kv_heads"],
        "head_dim": params["head_dim"],
        "vocab_size": params["vocab_size"],
        "rope_theta": params["rope_theta"],
        "rms_norm_eps": params["norm_eps"],
        "max_position_embeddings": 1 << 15,
        "tie_word_embeddings": True,
        "torch_dtype": "float32",
    }
    special = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    tokens = {token: i for i, token in enumerate(_vocabulary(min(259, params["vocab_size"])))}
    model = {"type": "BPE", "vocab": tokens, "merges": []}
    names = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
    files = {
        "config.json": config | special,
        "generation_config.json": special,
        "tokenizer.json": {"version": "1.0", "added_tokens": [], "model": model},
        "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", **names},
    }
    for file, content in files.items():
        (folder / file).write_text(json.dumps(content))


def _hugging_face_name(name: str) -> str:
    if name.startswith("layers."):
        _, layer, rest = name.split(".", 2)
        return f"model.layers.{layer}.{_HUGGING_FACE_NAMES[rest]}"
    return {"tok_embeddings.weight": "model.embed_tokens.weight", "norm.weight": "model.norm.weight"}[name]


def _write(checkpoint: Path, path: Path, kind: str) -> None:
    if kind == "hugging-face":
        write_hugging_face(checkpoint, path)
    else:
        write_gguf(checkpoint, path, kind.removesuffix("-vocabulary"), kind.endswith("-vocabulary"))


if __name__ == "__main__":
    _write(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
