# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""transformers' export of decoders with sliding windows, run past the window and compared with eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers
from oracle.models.decoder_sizes import SMALL_DECODER
from oracle.tolerances import LAYERS
from torchao.quantization import quantize_
from torchao.quantization.granularity import PerAxis
from torchao.quantization.quant_api import IntxWeightOnlyConfig
from torchao.utils import unwrap_tensor_subclass
from transformers.integrations.executorch import TorchExportableModuleForDecoderOnlyLM

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Method, Runtime

WINDOW, POSITIONS, PROMPT = 8, 24, 5
SIZES: dict[str, Any] = {
    **SMALL_DECODER,
    "max_position_embeddings": 128,
    "sliding_window": WINDOW,
    "pad_token_id": 0,
    "initializer_range": 0.1,  # with the default, attention is nearly uniform and hides a wrong window
}
ONE_EACH = {"layer_types": ["sliding_attention", "full_attention"]}
CONFIGS: dict[str, Callable[[], Any]] = {
    "cohere2": lambda: transformers.Cohere2Config(**SIZES, **ONE_EACH),
    "gemma2": lambda: transformers.Gemma2Config(**SIZES, **ONE_EACH, head_dim=16),
    "gemma3": lambda: transformers.Gemma3TextConfig(**SIZES, **ONE_EACH, head_dim=16),
    "gpt_oss": lambda: transformers.GptOssConfig(
        **SIZES,
        **ONE_EACH,
        head_dim=16,
        num_local_experts=4,
        num_experts_per_tok=2,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
    ),
    "mistral": lambda: transformers.MistralConfig(**SIZES),
    "phi3": lambda: transformers.Phi3Config(**SIZES),
    "qwen2": lambda: transformers.Qwen2Config(**SIZES, use_sliding_window=True, max_window_layers=1),
}


def _decoder(config: Any) -> Any:
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config).eval().requires_grad_(False)
    model.generation_config = transformers.GenerationConfig(
        use_cache=True,
        cache_implementation="static",
        max_length=POSITIONS,
        cache_config={"batch_size": 1, "max_cache_len": POSITIONS},
    )
    return model


def _lowered(model: Any, count: int) -> Method:
    """Return the method for calls of one token, or, with a larger count, of a dynamic number of tokens."""
    exportable = TorchExportableModuleForDecoderOnlyLM(model, batch_size=1, max_cache_len=POSITIONS)
    length = torch.export.Dim("length", max=POSITIONS - 1)
    sizes = {"input_ids": {1: length}, "cache_position": {0: length}} if count > 1 else None
    tokens = torch.ones(1, count, dtype=torch.long)
    exported = exportable.export(
        input_ids=tokens, cache_position=torch.arange(count), dynamic_shapes=sizes, strict=False
    )
    program = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch()
    return Runtime.get().load_program(program.buffer).load_method("forward")


def _assert_equal(model: Any, method: Method, prompt: int) -> None:
    """Compare the logits of all positions; the method reads `prompt` tokens in its first call."""
    tokens = torch.randint(3, 250, (1, POSITIONS), generator=torch.Generator().manual_seed(1))
    expected = model(tokens, use_cache=False).logits[0]
    found = [method.execute((tokens[:, :prompt], torch.arange(prompt)))[0][0].clone()]
    for position in range(prompt, POSITIONS):
        inputs = tokens[:, position : position + 1], torch.tensor([position])
        found.append(method.execute(inputs)[0][0].clone())
    torch.testing.assert_close(torch.cat(found), expected, **LAYERS)


@pytest.mark.sampled
@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_logits_past_the_window_match_eager(name: str) -> None:
    model = _decoder(CONFIGS[name]())
    _assert_equal(model, _lowered(model, 1), 1)


def test_logits_past_the_window_match_eager_after_a_prompt() -> None:
    model = _decoder(CONFIGS["mistral"]())
    _assert_equal(model, _lowered(model, PROMPT), PROMPT)


def test_logits_with_int8_weights_and_one_scale_per_row_match_eager() -> None:
    model = _decoder(CONFIGS["mistral"]())
    quantize_(model, IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=PerAxis(0)))
    model = unwrap_tensor_subclass(model)
    _assert_equal(model, _lowered(model, 1), 1)
