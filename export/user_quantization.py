# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Quantize the model of a command line as a recipe says."""

from __future__ import annotations

from dataclasses import replace

import torch

from executorch.export.quantization import quantize_pt2e, quantize_source
from executorch.export.recipe import AOQuantizationConfig, QuantizationRecipe
from executorch.export.user_model import UserError, UserModel

__all__ = ["quantize_user_model"]


def quantize_user_model(user: UserModel, recipe: QuantizationRecipe, name: str) -> UserModel:
    """Return `user` with its model quantized, calibrated with its example inputs. `name`: the model in messages.

    UserError: the model is an ExportedProgram, or it lacks linear layers that the recipe can quantize.
    """
    if not isinstance(user.model, torch.nn.Module):
        raise UserError(f"{name} is an ExportedProgram; expected an nn.Module to quantize")
    model = user.model
    for config in recipe.ao_quantization_configs or ():
        _check_linear_layers(model, config, name)
    if recipe.ao_quantization_configs:
        quantize_source(model, recipe.ao_quantization_configs)
    if recipe.quantizers:
        model = quantize_pt2e(model, recipe.quantizers, [user.args], user.kwargs, user.dynamic_shapes)
    return replace(user, model=model)


def _check_linear_layers(model: torch.nn.Module, config: AOQuantizationConfig, name: str) -> None:
    layers = [(path, module) for path, module in model.named_modules() if isinstance(module, torch.nn.Linear)]
    if not layers:
        raise UserError(f"{name} has no nn.Linear; this recipe quantizes the weights of linear layers only")
    group_size: int | None = getattr(getattr(config.ao_base_config, "weight_granularity", None), "group_size", None)
    uneven = [
        f"{path or 'the model'} ({layer.in_features})"
        for path, layer in layers
        if layer.in_features % (group_size or 1)
    ]
    if uneven:
        raise UserError(
            f"{name}: expected linear layers with in_features divisible by the group size {group_size}; "
            f"found {', '.join(uneven[:4])}; a recipe with a scale per channel has no groups"
        )
