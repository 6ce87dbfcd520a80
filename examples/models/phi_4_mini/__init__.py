# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Phi-4-mini: sizes of its models, and the conversion of its checkpoints."""

from executorch.examples.models.llama.model import ConfiguredModel
from executorch.examples.models.phi_4_mini.convert_weights import convert_weights

__all__ = ["Phi4MiniModel", "convert_weights"]


class Phi4MiniModel(ConfiguredModel):
    """The decoder of an `LlmConfig` whose `base.model_class` is one of Phi-4-mini."""
