# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decoders of language models: their definition (Llama, Qwen, Gemma, …), checkpoints, rewrites and export."""

from executorch.examples.models.llama.model import Llama2Model

__all__ = ["Llama2Model"]
