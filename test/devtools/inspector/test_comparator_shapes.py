# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Numeric comparators refuse tensors that differ in shape."""

import pytest
import torch

from executorch.devtools.inspector.numerical_comparator import (
    L1Comparator,
    MSEComparator,
    NumericalComparatorBase,
    SNRComparator,
)


@pytest.mark.parametrize("comparator", [L1Comparator, MSEComparator, SNRComparator])
def test_two_shapes_are_named_and_not_broadcast(comparator: type[NumericalComparatorBase]) -> None:
    with pytest.raises(ValueError, match=r"shape \[2, 3\], the runtime's \[3\]"):
        comparator().element_compare(torch.ones(2, 3), torch.ones(3))
