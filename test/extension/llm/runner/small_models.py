# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Small language models as programs, beside their eager models, and a tokenizer of bytes."""

import json

import torch

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.examples.models.llama.export_llama_lib import lower_llama, metadata
from executorch.examples.models.llama.llama_transformer import Transformer
from executorch.examples.models.llama.model_args import ModelArgs
from executorch.examples.models.llama.source_transformation.custom_kv_cache import replace_kv_cache_with_custom_kv_cache
from executorch.examples.models.llama.source_transformation.sdpa import replace_sdpa_with_custom_op
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.passes import MemoryPlanningPass
from executorch.extension.llm.export.export_llm import read_config
from test.extension.llm.tokenizers.byte_alphabet import CHARACTERS

SIZES = {"dim": 32, "n_layers": 2, "n_heads": 4, "n_kv_heads": 2, "hidden_dim": 48, "vocab_size": 258}
CONTEXT = 48
CHUNK = 8
BOS, EOS = 256, 257


def write_tokenizer(path, words=258):
    """Bytes as tokens, in Hugging Face's form; with more words, the last one is <more>."""
    special = {"<s>": BOS, "</s>": EOS}
    level = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
    vocabulary = {character: byte for byte, character in enumerate(CHARACTERS)} | special
    if words > 258:
        special["<more>"] = words - 1
    added = [{"id": token, "content": content, "special": True} for content, token in special.items()]
    model = {"type": "BPE", "vocab": vocabulary, "merges": []}
    path.write_text(json.dumps({"added_tokens": added, "pre_tokenizer": level, "decoder": level, "model": model}))
    return path


def initialize(model):
    for weight in model.eval().parameters():
        if weight.dim() > 1:
            torch.nn.init.normal_(weight, std=0.4)


def export(folder, name, *options, **layers):
    torch.manual_seed(3)
    config = read_config(
        ["base.params=unused", f"export.max_seq_length={CHUNK}", f"export.max_context_length={CONTEXT}",
         "base.metadata='{\"get_eos_ids\": [257]}'", *options]
    )  # fmt: skip
    model = Transformer(
        ModelArgs(
            **SIZES,
            **layers,
            max_seq_len=CHUNK,
            max_context_len=CONTEXT,
            use_kv_cache=config.model.use_kv_cache,
            enable_dynamic_shape=config.model.enable_dynamic_shape,
            generate_full_logits=config.debug.generate_full_logits,
        )
    )
    initialize(model)
    states = ("cache", "conv_state")
    weights = {key: value.clone() for key, value in model.state_dict().items() if not any(s in key for s in states)}
    path = folder / name
    path.write_bytes(lower_llama(model, config).buffer)
    eager = Transformer(ModelArgs(**SIZES, **layers, max_seq_len=CONTEXT)).eval()
    eager.load_state_dict(weights)
    return path, eager


def export_prefill_and_decode(folder, name):
    """A program with the methods `prefill` and `decode` in place of `forward`; they share one cache."""
    torch.manual_seed(3)
    config = read_config(
        ["base.params=unused", f"export.max_seq_length={CHUNK}", f"export.max_context_length={CONTEXT}",
         "base.metadata='{\"get_eos_ids\": [257]}'", "model.use_kv_cache=True", "model.use_sdpa_with_kv_cache=True"]
    )  # fmt: skip
    args = ModelArgs(**SIZES, max_seq_len=CHUNK, max_context_len=CONTEXT, use_kv_cache=True)
    model = Transformer(args)
    initialize(model)
    eager = Transformer(ModelArgs(**SIZES, max_seq_len=CONTEXT)).eval()
    eager.load_state_dict({key: value.clone() for key, value in model.state_dict().items() if "cache" not in key})
    replace_kv_cache_with_custom_kv_cache(model)
    replace_sdpa_with_custom_op(model)
    positions = {"input_pos": torch.tensor([0])}
    count = torch.export.Dim("count", min=1, max=CHUNK)
    prefill = torch.export.export(
        model, (torch.ones(1, 3, dtype=torch.long), positions), dynamic_shapes=({1: count}, {"input_pos": None})
    )
    decode = torch.export.export(model, (torch.ones(1, 1, dtype=torch.long), positions))
    program = to_edge_transform_and_lower(
        {"prefill": prefill, "decode": decode},
        partitioner=[XnnpackPartitioner()],
        constant_methods=metadata(args, config, model),
    ).to_executorch(ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=True)))
    path = folder / name
    path.write_bytes(program.buffer)
    return path, eager


def eager_tokens(model, tokens, count):
    tokens = list(tokens)
    with torch.no_grad():
        for _ in range(count):
            tokens.append(int(model(torch.tensor([tokens]))[0].argmax()))
    return tokens[-count:]


def as_text(tokens):
    return bytes(token for token in tokens if token < 256).decode("utf-8", "backslashreplace")
