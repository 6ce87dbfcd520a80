# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""SmolLM2: sizes of its models, and the conversion of its checkpoints."""

from executorch.examples.models.llama.convert_weights import convert_weights
from executorch.examples.models.llama.model import ConfiguredModel

__all__ = ["SmolLM2Model", "convert_weights"]


class SmolLM2Model(ConfiguredModel):
    """The decoder of an `LlmConfig` whose `base.model_class` is one of SmolLM2."""
