# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`transformers.exporters`, which imports and replaces names of ExecuTorch, exports with this package."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers
from oracle.tolerances import MODEL
from transformers.exporters.exporter_executorch import ExecutorchConfig, ExecutorchExporter

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")

SIZES = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
TEXT = {**SIZES, "vocab_size": 100, "max_position_embeddings": 64}


def _tokens(number: int, length: int) -> dict[str, torch.Tensor]:
    return {
        "input_ids": torch.randint(3, 90, (number, length)),
        "attention_mask": torch.ones(number, length, dtype=torch.long),
    }


MODELS: dict[str, Callable[[], Any]] = {
    "bert": lambda: transformers.BertModel(transformers.BertConfig(**TEXT)),
    "llama": lambda: transformers.LlamaForCausalLM(
        transformers.LlamaConfig(**TEXT, num_key_value_heads=2, use_cache=False)
    ),
}


def _assert_equal(model: Any, exported: Any, inputs: dict[str, torch.Tensor]) -> None:
    expected, found = model(**inputs), exported(**inputs)
    name = next(iter(expected.keys()))
    torch.testing.assert_close(found[name], expected[name], **MODEL)


@torch.no_grad()
@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_text_runs_at_other_sizes(name: str) -> None:
    torch.manual_seed(0)
    model = MODELS[name]().eval()
    config = ExecutorchConfig(backend="xnnpack", dynamic=True)
    exported = ExecutorchExporter().export(model, _tokens(2, 7), config=config)
    for number, length in ((2, 7), (3, 12), (2, 2)):
        _assert_equal(model, exported, _tokens(number, length))


@torch.no_grad()
def test_a_model_of_images_is_saved_and_read() -> None:
    torch.manual_seed(0)
    model = transformers.ViTModel(transformers.ViTConfig(**SIZES, image_size=32, patch_size=8)).eval()
    inputs = {"pixel_values": torch.randn(1, 3, 32, 32)}
    exported = ExecutorchExporter().export(model, dict(inputs), config=ExecutorchConfig(backend="xnnpack"))
    _assert_equal(model, exported, inputs)
