# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""transformers' own export with a static cache, run against eager."""

import pytest
import torch
import transformers
from oracle.models.decoder_sizes import SMALL_DECODER
from oracle.tolerances import INT8_MODEL, LAYERS, of_largest
from torchao.quantization import quantize_
from torchao.quantization.granularity import PerGroup
from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig
from torchao.utils import unwrap_tensor_subclass
from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

SIZES = {**SMALL_DECODER, "max_position_embeddings": 128}
CONFIGS = {
    "llama": transformers.LlamaConfig,
    "qwen2": transformers.Qwen2Config,
    "qwen3": transformers.Qwen3Config,
    "phi3": transformers.Phi3Config,
    "olmo2": transformers.Olmo2Config,
}


def decoder(name):
    torch.manual_seed(0)
    extra = {"head_dim": 16} if name == "qwen3" else {"pad_token_id": 0} if name == "phi3" else {}
    model = transformers.AutoModelForCausalLM.from_config(CONFIGS[name](**SIZES, **extra)).eval()
    cache = {"batch_size": 1, "max_cache_len": 32}
    model.generation_config = transformers.GenerationConfig(
        use_cache=True, cache_implementation="static", max_length=32, cache_config=cache
    )
    return model.requires_grad_(False)


def lowered(model):
    wrapped = TorchExportableModuleWithStaticCache(model, batch_size=1, max_cache_len=32)
    inputs = {"input_ids": torch.tensor([[3]]), "cache_position": torch.tensor([0])}
    exported = torch.export.export(wrapped, (), inputs, strict=False)
    program = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch()
    return Runtime.get().load_program(program.buffer).load_method("forward")


TOKENS = [5, 9, 22, 7, 250, 9]


def found_by(method):
    rows = [method.execute((torch.tensor([[t]]), torch.tensor([i])))[0][0, -1] for i, t in enumerate(TOKENS)]
    return torch.stack(rows)


@pytest.mark.sampled
@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_a_decoder_with_a_static_cache_matches_the_logits_of_eager(name):
    model = decoder(name)
    expected = model(torch.tensor([TOKENS])).logits[0]
    torch.testing.assert_close(found_by(lowered(model)), expected, **LAYERS)


def test_a_decoder_quantized_to_4_bits_lowers_though_layers_share_one_quantization():
    model = decoder("llama")
    group = PerGroup(32)
    quantize_(model, Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=group))
    model = unwrap_tensor_subclass(model)
    expected = model(torch.tensor([TOKENS])).logits[0]
    torch.testing.assert_close(found_by(lowered(model)), expected, **of_largest(expected, INT8_MODEL))
