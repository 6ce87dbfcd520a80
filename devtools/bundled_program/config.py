# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Test cases of methods: inputs and expected outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

ConfigValue = torch.Tensor | int | bool | float
MethodInputType = Sequence[ConfigValue]
MethodOutputType = Sequence[torch.Tensor]
DataContainer = list | tuple | dict  # type: ignore[type-arg]  # documented code calls isinstance with its parts


class MethodTestCase:
    """One call of a method; nested lists, tuples and dicts are flattened.

    inputs: as the eager module takes them. expected_outputs: as it returns them; without them, outputs are not checked.
    Raises TypeError for a leaf that is not a tensor, int, bool or float.
    """

    def __init__(self, inputs: Any, expected_outputs: Any = None) -> None:
        self.inputs = _flat(inputs, "input")
        self.expected_outputs = [] if expected_outputs is None else _flat(expected_outputs, "expected output")


@dataclass
class MethodTestSuite:
    """The test cases of one method."""

    method_name: str
    test_cases: Sequence[MethodTestCase]


def _flat(values: Any, what: str) -> list[ConfigValue]:
    leaves, _ = tree_flatten(values)
    for index, leaf in enumerate(leaves):
        if not isinstance(leaf, (torch.Tensor, int, float)):
            raise TypeError(f"{what} {index}: expected a tensor, int, bool or float; found {type(leaf).__name__}")
    return leaves
