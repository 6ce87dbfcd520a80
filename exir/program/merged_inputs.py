# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Find inputs that were one tensor object in the example inputs: torch.export merges them, and the program then reads
only the last of them, also if later calls pass different tensors."""

import warnings

import torch
from torch.export import ExportedProgram
from torch.export._tree_utils import reorder_kwargs
from torch.utils._pytree import tree_leaves

__all__ = ["merged_inputs", "warn_of_merged_inputs"]


def merged_inputs(program: ExportedProgram) -> list[tuple[str, str]]:
    """Return pairs (unread input, input read in its place), found by the program's example inputs, if it has any."""
    if program.example_inputs is None:
        return []
    args, kwargs = program.example_inputs
    examples = tree_leaves((args, reorder_kwargs(kwargs, program.call_spec.in_spec)))
    names = program.graph_signature.user_inputs
    if len(examples) != len(names):
        return []
    users = {node.name: len(node.users) for node in program.graph.find_nodes(op="placeholder")}
    read: dict[int, str] = {}
    for name, example in zip(names, examples, strict=True):
        if isinstance(example, torch.Tensor) and users.get(str(name)):
            read[id(example)] = str(name)
    return [
        (str(name), read[id(example)])
        for name, example in zip(names, examples, strict=True)
        if isinstance(example, torch.Tensor) and id(example) in read and not users.get(str(name))
    ]


def warn_of_merged_inputs(method: str, program: ExportedProgram) -> None:
    """Issue a UserWarning for each such pair."""
    for unread, instead in merged_inputs(program):
        warnings.warn(
            f"method '{method}': the inputs '{unread}' and '{instead}' were one tensor object when the model was "
            f"exported, and torch.export made them one input: the program reads '{instead}' in place of '{unread}'. "
            f"If the model reads both, export it with two tensors: clone() one of them",
            UserWarning,
            stacklevel=2,
        )
