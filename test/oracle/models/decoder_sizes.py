# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Sizes of transformers' decoders in tests: two layers with grouped heads, exported in seconds."""

from typing import Any

SMALL_DECODER: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 256,
}
