# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`quantize_model_`: weights of a model become quantized tensors; `export_llm`: groups that do not fit layers."""

import copy

import pytest
import torch
from oracle.tolerances import INT8_MODEL, of_largest

from executorch.examples.models.llama.export_llama_lib import lower_llama
from executorch.examples.models.llama.llama_transformer import Transformer
from executorch.examples.models.llama.model_args import ModelArgs
from executorch.extension.llm.export.config.llm_config import LlmConfigError
from executorch.extension.llm.export.export_llm import read_config
from executorch.extension.llm.export.quantize import quantize_linear_layers, quantize_model_
from executorch.runtime import Runtime


class _Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(16, 64)
        self.wide = torch.nn.Linear(64, 48)
        self.narrow = torch.nn.Linear(48, 8)


def _blocks(model: torch.nn.Module) -> dict[str, int]:
    """Group sizes of the quantized weights, by module."""
    weights = {name.removesuffix(".weight"): weight for name, weight in model.named_parameters()}
    return {name: weight.block_size[1] for name, weight in weights.items() if hasattr(weight, "block_size")}


@pytest.mark.parametrize(
    ("options", "blocks"),
    [
        ({}, {}),
        ({"qlinear_config": "8da8w"}, {"wide": 64, "narrow": 48}),
        ({"qlinear_config": "4w", "qlinear_group_size": 16}, {"wide": 16, "narrow": 16}),
        ({"qlinear_config": "8da4w", "skip_incompatible_shapes": True}, {"wide": 32}),
        ({"qembedding_config": "4w"}, {"embedding": 32}),
        ({"qembedding_config": "8w", "qembedding_group_size": 16}, {"embedding": 16}),
    ],
)
def test_configurations_choose_layers_and_group_sizes(options: dict[str, object], blocks: dict[str, int]) -> None:
    model = _Model()
    quantize_model_(model, **options)  # type: ignore[arg-type]
    assert _blocks(model) == blocks


def test_quantized_weights_are_near_the_original() -> None:
    model = _Model()
    inputs = torch.randn(4, 64)
    expected = model.wide(inputs)
    quantize_model_(model, qlinear_config="8da8w")
    torch.testing.assert_close(model.wide(inputs), expected, rtol=0, atol=INT8_MODEL)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"qlinear_config": "nvfp4"}, "qlinear_config: expected one of 4w, 8w, 8da4w, 8da8w, found 'nvfp4'"),
        ({"qembedding_config": "2w"}, "qembedding_config: expected one of 4w, 8w, found '2w'"),
        ({"qlinear_config": "8da4w"}, "narrow: the group size 32 does not divide rows of 48 numbers"),
        ({"qlinear_packing_format": "tile_packed_to_4d"}, "qlinear_packing_format: expected None"),
        ({"tie_word_embeddings": True}, "tie_word_embeddings: quantize with model.use_shared_embedding"),
    ],
)
def test_other_configurations_are_refused_by_name(options: dict[str, object], message: str) -> None:
    with pytest.raises(LlmConfigError, match=message):
        quantize_model_(_Model(), **options)  # type: ignore[arg-type]


def test_layers_that_a_group_does_not_fit_stay_in_float_with_8da4w(caplog: pytest.LogCaptureFixture) -> None:
    quantized = ["quantization.qmode=8da4w", "quantization.group_size=48", "backend.xnnpack.enabled=True"]
    config = read_config(["base.params=unused", "export.max_seq_length=8", "export.max_context_length=8", *quantized])
    torch.manual_seed(0)
    model = Transformer(ModelArgs(dim=64, hidden_dim=96, n_layers=1, n_heads=4, vocab_size=40, max_seq_len=8)).eval()
    with caplog.at_level("WARNING"):
        reference = quantize_linear_layers(copy.deepcopy(model), config.quantization)
    skipped = {record.getMessage().partition(" stays in float: ")[0] for record in caplog.records}
    linear = {name for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)}
    assert linear - skipped == {"layers.0.feed_forward.w2"}
    method = Runtime.get().load_program(lower_llama(model, config).buffer).load_method("forward")
    tokens = torch.randint(0, 40, (1, 8))
    with torch.no_grad():
        expected = reference(tokens)
    torch.testing.assert_close(method.execute((tokens,))[0], expected, **of_largest(expected, INT8_MODEL))
