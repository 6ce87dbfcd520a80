# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Exports MiniLM to a program that takes sentences of 2 to 128 tokens."""

from pathlib import Path

import torch
from model import MOST_TOKENS, SentenceEmbedding

from executorch.exir import to_edge


def export_program(model: SentenceEmbedding, path: Path) -> int:
    """Writes the program and returns the bytes that it plans for its activations."""
    tokens = torch.export.Dim("tokens", min=2, max=MOST_TOKENS)
    example = (torch.ones(1, 16, dtype=torch.int64), torch.ones(1, 16, dtype=torch.int64))
    exported = torch.export.export(model, example, dynamic_shapes=({1: tokens}, {1: tokens}))
    program = to_edge(exported).to_executorch()
    with path.open("wb") as file:
        program.write_to_file(file)
    return sum(program.executorch_program.execution_plan[0].non_const_buffer_sizes)
