# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Distances between what a node computes and what the runtime computed for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from executorch.devtools.inspector.compare_results import (
    absolute_error,
    as_float,
    mean_squared_error,
    signal_to_noise,
)

if TYPE_CHECKING:
    from executorch.devtools.inspector.inspector import Inspector

# (handles, value of the exported program) → (handles, value of the runtime).
OutputMapping = dict[tuple[tuple[int, ...], Any], tuple[tuple[int, ...], Any]]

__all__ = ["L1Comparator", "MSEComparator", "NumericalComparatorBase", "OutputMapping", "SNRComparator"]


def _of_one_shape(a: Any, b: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Both values in float64. Raises ValueError for two shapes: broadcasting would compare other numbers."""
    expected, found = as_float(a), as_float(b)
    if expected.shape != found.shape:
        raise ValueError(f"the program's value has shape {list(expected.shape)}, the runtime's {list(found.shape)}")
    return expected, found


class NumericalComparatorBase(ABC):
    """To be derived from for a distance of your own: `element_compare`, and `preprocessing` if values are to be
    transformed before (layouts, quantization). `inspector` is set before they are called."""

    def __init__(self, inspector: Inspector | None = None) -> None:
        self.inspector = inspector

    def preprocessing(self, mapping: OutputMapping) -> OutputMapping:
        """The pairs to compare, made of the pairs that were found."""
        return mapping

    @abstractmethod
    def element_compare(self, a: Any, b: Any) -> float:
        """The distance of the exported program's value `a` and the runtime's `b`."""

    def distances(self, a: Any, b: Any) -> list[float]:
        """One distance, or those of the items of two sequences. Raises ValueError if they do not fit each other."""
        if isinstance(a, Sequence) != isinstance(b, Sequence) or (isinstance(a, Sequence) and len(a) != len(b)):
            raise ValueError(f"expected as many values as {a!r} has; found {b!r}")
        pairs = zip(a, b, strict=True) if isinstance(a, Sequence) else [(a, b)]
        return [self.element_compare(x, y) for x, y in pairs]


class MSEComparator(NumericalComparatorBase):
    """The mean of squared differences."""

    def element_compare(self, a: Any, b: Any) -> float:
        return mean_squared_error(*_of_one_shape(a, b))


class L1Comparator(NumericalComparatorBase):
    """The sum of absolute differences."""

    def element_compare(self, a: Any, b: Any) -> float:
        return absolute_error(*_of_one_shape(a, b))


class SNRComparator(NumericalComparatorBase):
    """Signal to noise, in decibel: more is better."""

    def element_compare(self, a: Any, b: Any) -> float:
        return signal_to_noise(*_of_one_shape(a, b))
