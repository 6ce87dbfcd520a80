# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""BackendRecipeProvider: interface of backends that offer recipes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from executorch.export.recipe import ExportRecipe, RecipeType

__all__ = ["BackendRecipeProvider"]


class BackendRecipeProvider(ABC):
    """Register an instance with `recipe_registry.register_backend_recipe_provider`."""

    @property
    @abstractmethod
    def backend_name(self) -> str:
        """The backend's name, as returned by `get_backend_name` of its RecipeType."""

    @abstractmethod
    def get_supported_recipes(self) -> Sequence[RecipeType]:
        """The supported recipe types."""

    @abstractmethod
    def create_recipe(self, recipe_type: RecipeType, **kwargs: Any) -> ExportRecipe | None:
        """Create a recipe from its parameters; None for an unsupported type."""

    def supports_recipe(self, recipe_type: RecipeType) -> bool:
        return recipe_type in self.get_supported_recipes()
