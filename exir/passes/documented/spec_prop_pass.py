# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade of `exir.passes.memory.spec_prop_pass`, with the name that `transformers.exporters` imports."""

from torch import fx
from torch.export import ExportGraphSignature

from executorch.exir.memory.lifetimes.specs import mutable_buffer_names
from executorch.exir.passes.memory.spec_prop_pass import SpecPropPass, make_spec

__all__ = ["SpecPropPass", "make_spec"]


def _is_mutable_buffer(node: fx.Node, graph_signature: ExportGraphSignature) -> bool:
    """Return whether a placeholder is a buffer that the program writes."""
    return str(node.target) in mutable_buffer_names(graph_signature)
