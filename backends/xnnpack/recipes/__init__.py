# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Recipes for XNNPACK. Importing this package registers them: `ExportRecipe.get_recipe(XNNPackRecipeType.FP32)`."""

from executorch.backends.xnnpack.recipes.xnnpack_recipe_provider import XNNPACKRecipeProvider
from executorch.backends.xnnpack.recipes.xnnpack_recipe_types import XNNPackRecipeType
from executorch.export import recipe_registry

recipe_registry.register_backend_recipe_provider(XNNPACKRecipeProvider())

__all__ = ["XNNPACKRecipeProvider", "XNNPackRecipeType"]
