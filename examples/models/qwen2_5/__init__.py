# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Qwen 2.5: sizes of its models, and the conversion of its checkpoints."""

from executorch.examples.models.llama.convert_weights import convert_weights
from executorch.examples.models.llama.model import ConfiguredModel

__all__ = ["Qwen2_5Model", "convert_weights"]


class Qwen2_5Model(ConfiguredModel):
    """The decoder of an `LlmConfig` whose `base.model_class` is one of Qwen 2.5."""
