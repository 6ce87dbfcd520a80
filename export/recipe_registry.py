# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Registry of the backends' recipes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from executorch.export.recipe import ExportRecipe, RecipeType
from executorch.export.recipe_provider import BackendRecipeProvider

__all__ = ["RecipeRegistry", "recipe_registry"]


class RecipeRegistry:
    """Backend name → provider. A singleton: `RecipeRegistry()` is `recipe_registry`."""

    _instance: ClassVar[RecipeRegistry | None] = None
    _initialized: ClassVar[bool] = False
    _providers: dict[str, BackendRecipeProvider]

    def __new__(cls) -> RecipeRegistry:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __init__(self) -> None:
        if not RecipeRegistry._initialized:  # a later RecipeRegistry() keeps the providers
            self._providers = {}
            RecipeRegistry._initialized = True

    def register_backend_recipe_provider(self, provider: BackendRecipeProvider) -> None:
        """Register a provider, replacing an earlier one of the same backend."""
        self._providers[provider.backend_name] = provider

    def create_recipe(self, recipe_type: RecipeType, backend: str, **kwargs: Any) -> ExportRecipe | None:
        """Return the recipe, or None for an unsupported type. Raises ValueError for an unknown backend."""
        return self._provider(backend).create_recipe(recipe_type, **kwargs)

    def get_supported_recipes(self, backend: str) -> Sequence[RecipeType]:
        """Return the recipes of a backend. Raises ValueError for a backend that is not registered."""
        return self._provider(backend).get_supported_recipes()

    def list_backends(self) -> Sequence[str]:
        """Return the names of the registered backends."""
        return list(self._providers)

    def _provider(self, backend: str) -> BackendRecipeProvider:
        if backend not in self._providers:
            raise ValueError(f"Backend {backend!r} not available. Available: {self.list_backends()}")
        return self._providers[backend]


recipe_registry = RecipeRegistry()
