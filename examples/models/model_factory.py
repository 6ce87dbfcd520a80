# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Example models by the module and class that the registry names."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from executorch.examples.models import MODEL_NAME_TO_MODEL, UNAVAILABLE_MODULES, UnavailableModelError


class EagerModelFactory:
    """Builds example models."""

    @staticmethod
    def create_model(
        module_name: str, model_class_name: str, **kwargs: Any
    ) -> tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any] | None, Any]:
        """Return the model, its example inputs, its example keyword inputs and its dynamic shapes (None for none).

        kwargs: arguments of the class's constructor; `llm_config` for a family of language models.
        Raises UnavailableModelError for a model that this distribution does not define, ValueError for an unknown
        module or class, ImportError if the model needs a package that is not installed.
        """
        if module_name in UNAVAILABLE_MODULES and "llm_config" not in kwargs:
            names = [name for name, (module, _) in MODEL_NAME_TO_MODEL.items() if module == module_name]
            raise UnavailableModelError(
                f"example model {' / '.join(names)} is not available: {UNAVAILABLE_MODULES[module_name]}"
            )
        path = f"executorch.examples.models.{module_name}"
        try:
            module = importlib.import_module(path)
        except ModuleNotFoundError as missing:
            if missing.name is None or not path.startswith(missing.name):
                raise
            known = ", ".join(sorted({module for module, _ in MODEL_NAME_TO_MODEL.values()}))
            raise ValueError(f"no module of example models is named '{module_name}': known: {known}") from missing
        model_class = getattr(module, model_class_name, None)
        if model_class is None:
            raise ValueError(f"Model class '{model_class_name}' not found in module '{module_name}'.")
        example = model_class(**kwargs)
        keywords = example.get_example_kwarg_inputs() if hasattr(example, "get_example_kwarg_inputs") else None
        shapes = example.get_dynamic_shapes() if hasattr(example, "get_dynamic_shapes") else None
        return example.get_eager_model(), example.get_example_inputs(), keywords, shapes
