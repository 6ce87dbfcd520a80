# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`quantize_model_`: weights of a user's own model become torchao's quantized tensors."""

import pytest
import torch
from oracle.tolerances import INT8_MODEL

from executorch.extension.llm.export.config.llm_config import LlmConfigError
from executorch.extension.llm.export.quantize import quantize_model_


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
