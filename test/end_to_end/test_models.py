# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Real architectures, from nn.Module to the runtime's numbers."""

import pytest
import torch
from models import NAMES, make
from oracle.models.pipeline import assert_matches_eager


@pytest.mark.sampled
@pytest.mark.parametrize("name", NAMES)
def test_a_model_exports_loads_and_matches_eager(name: str) -> None:
    model, inputs = make(name)
    assert_matches_eager(model, inputs, make(name, seed=1).inputs)


@pytest.mark.parametrize("name", ["mobilenet_v3", "resnet18"])
def test_a_channels_last_model_and_input_match_eager(name: str) -> None:
    model, (image,) = make(name)
    model = model.to(memory_format=torch.channels_last)
    assert_matches_eager(model, (image.to(memory_format=torch.channels_last),))


def test_a_batch_of_any_size_within_the_bound_matches_eager() -> None:
    model, _ = make("mlp")
    batch = torch.export.Dim("batch", min=1, max=8)
    calls = [(torch.randn(n, 64),) for n in (3, 1, 8, 2)]
    assert_matches_eager(model, *calls, dynamic_shapes=({0: batch},))


def test_sentences_of_any_length_within_the_bound_match_eager() -> None:
    model, (ids, mask) = make("minilm")
    tokens = torch.export.Dim("tokens", min=2, max=128)
    calls = [(ids[:, :n], mask[:, :n]) for n in (16, 2, 128, 77)]
    assert_matches_eager(model, *calls, dynamic_shapes=({1: tokens}, {1: tokens}))
