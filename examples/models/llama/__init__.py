# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A decoder like Llama 2."""

from executorch.examples.models.llama.model import Llama2Model

__all__ = ["Llama2Model"]
