# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A tensor that is an example input twice becomes one input of the program, with a warning."""

import warnings
from typing import Any

import pytest
import torch
from torch.export import export

from executorch.exir import to_edge, to_edge_transform_and_lower

X = torch.randn(3)


class Both(torch.nn.Module):
    def forward(self, x: torch.Tensor, more: dict[str, torch.Tensor], y: torch.Tensor | None = None) -> torch.Tensor:
        return x + 2 * more["z"] + (0 if y is None else y)


@pytest.mark.parametrize("lower", [to_edge, to_edge_transform_and_lower])
@pytest.mark.parametrize("strict", [False, True])
def test_an_input_that_was_merged_with_another_is_named(lower: Any, strict: bool) -> None:
    exported = export(Both(), (X, {"z": X}), {"y": torch.randn(3)}, strict=strict)
    with pytest.warns(UserWarning, match=r"inputs 'x' and 'more_z' were one tensor.*clone\(\) one of them"):
        lower({"encode": exported})


def test_keyword_inputs_count() -> None:
    exported = export(Both(), (torch.randn(3), {"z": X}), {"y": X})
    with pytest.warns(UserWarning, match="method 'forward': the inputs 'more_z' and 'y' were one tensor"):
        to_edge(exported)


@pytest.mark.parametrize("inputs", [(X, {"z": X.clone()}), (X, {"z": X.view(3)}), (X, {"z": torch.randn(3)})])
def test_separate_inputs_cause_no_warning(inputs: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        to_edge(export(Both(), inputs))


def test_an_unread_input_causes_no_warning() -> None:
    class First(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x + 1

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        to_edge(export(First(), (X, torch.randn(3))))
