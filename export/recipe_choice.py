# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The recipe that `--backend`, `--quantize` and `--recipe` of the command line choose."""

from __future__ import annotations

import math
from typing import Any

from executorch.exir.plugins import load_plugin, plugin_names
from executorch.export.recipe import ExportRecipe, LoweringRecipe, RecipeType
from executorch.export.recipe_registry import recipe_registry
from executorch.export.user_model import UserError, similar_names

__all__ = ["BACKENDS", "PRECISIONS", "QUANTIZATIONS", "choose_recipe"]

_NOT_QUANTIZED = ""
_RECIPES = {
    "xnnpack": {
        _NOT_QUANTIZED: "xnnpack_fp32",
        "int8": "xnnpack_pt2e_int8_static_per_channel",
        "int8-dynamic": "xnnpack_pt2e_int8_dynamic_per_channel",
        "8da4w": "xnnpack_torchao_int8da_int4w_per_tensor",
    },
}
_RECIPES_OF_PRECISION = {"xnnpack": {"fp32": "xnnpack_fp32", "bf16": "xnnpack_bf16_compute"}}
BACKENDS = ("portable", *_RECIPES)
QUANTIZATIONS = ("int8", "int8-dynamic", "8da4w")
PRECISIONS = ("fp32", "bf16")


def choose_recipe(
    backend: str | None,
    quantize: str | None,
    recipe: str | None,
    precision: str | None = None,
    max_error: float | None = None,
) -> ExportRecipe:
    """Return the registered recipe `recipe`, or the recipe of `backend` (None: portable) for this quantization or
    precision of products. max_error: limit of the error that a precision may cause.

    Raises UserError for options that exclude each other, an unknown recipe, or a recipe with custom passes or stages.
    """
    if max_error is not None and precision in (None, "fp32"):
        raise UserError(f"--max-error needs --compute-precision bf16; found {precision or 'none'}")
    if max_error is not None and not 0 < max_error < math.inf:
        raise UserError(f"--max-error must be a positive number, found {max_error}")
    if recipe is not None:
        if backend is not None or quantize is not None or precision is not None:
            raise UserError(
                "--recipe chooses the backend, the quantization and the precision; leave out --backend, --quantize "
                "and --compute-precision"
            )
        return _recipe_by_name(recipe)
    if quantize is not None and precision is not None:
        raise UserError(f"--quantize {quantize} and --compute-precision {precision} exclude each other")
    if backend is None or backend == "portable":
        if quantize is not None:
            raise UserError(f"--quantize {quantize} needs --backend {' or '.join(_RECIPES)}; found --backend portable")
        if precision is not None:
            raise UserError(
                f"--compute-precision {precision} needs --backend {' or '.join(_RECIPES_OF_PRECISION)}; "
                "found --backend portable"
            )
        return ExportRecipe()
    if precision is not None:
        limits = {} if max_error is None else {"max_error": max_error}
        return _recipe_by_name(_RECIPES_OF_PRECISION[backend][precision], **limits)
    return _recipe_by_name(_RECIPES[backend][quantize or _NOT_QUANTIZED])


def _recipe_by_name(name: str, **settings: Any) -> ExportRecipe:
    for backend in plugin_names("recipes"):
        load_plugin("recipes", backend)  # registers them
    known: dict[str, RecipeType] = {
        str(kind.value): kind
        for backend in recipe_registry.list_backends()
        for kind in recipe_registry.get_supported_recipes(backend)
    }
    if name not in known:
        raise UserError(f"unknown recipe {name!r}; {similar_names(name, known)}")
    recipe = ExportRecipe.get_recipe(known[name], **settings)
    lowering = recipe.lowering_recipe or LoweringRecipe()
    stages = {
        "aten_transform_passes": recipe.aten_transform_passes,
        "pipeline_stages": recipe.pipeline_stages,
        "edge_transform_passes": lowering.edge_transform_passes,
        "edge_manager_transform_passes": lowering.edge_manager_transform_passes,
    }
    unsupported = [setting for setting, value in stages.items() if value]
    if unsupported:
        raise UserError(
            f"--recipe {name}: the command does not run its {', '.join(unsupported)}; call export() instead"
        )
    return recipe
