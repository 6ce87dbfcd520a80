# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Distances between a node's value and the runtime's value."""

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

DebugHandle = tuple[int, ...]
# (handles, value of the exported program) → (handles, value of the runtime).
IntermediateOutputMapping = dict[tuple[DebugHandle, Any], tuple[DebugHandle, Any]]

__all__ = [
    "DebugHandle",
    "IntermediateOutputMapping",
    "L1Comparator",
    "MSEComparator",
    "NumericalComparatorBase",
    "SNRComparator",
]


def checked_mapping(mapping: Any) -> IntermediateOutputMapping:
    """Return the result of a comparator's `preprocessing`.

    Raises: TypeError or ValueError, if it does not have the form of `IntermediateOutputMapping`.
    """
    if not isinstance(mapping, dict):
        raise TypeError(f"preprocessing() must return a dict: found {type(mapping).__name__}")
    for side, part in [("key", key) for key in mapping] + [("value", value) for value in mapping.values()]:
        if not isinstance(part, tuple) or len(part) != 2:
            raise ValueError(f"Invalid {side} format: expected (handles, value), found {part!r}")
        if not isinstance(part[0], tuple) or not all(isinstance(handle, int) for handle in part[0]):
            of = "AOT" if side == "key" else "runtime"
            raise ValueError(f"Invalid {of} debug handle: expected a tuple of int, found {part[0]!r}")
    return mapping


def _of_one_shape(a: Any, b: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Both values as float64. Raises ValueError for different shapes, which broadcasting would hide."""
    expected, found = as_float(a), as_float(b)
    if expected.shape != found.shape:
        raise ValueError(f"the program's value has shape {list(expected.shape)}, the runtime's {list(found.shape)}")
    return expected, found


class NumericalComparatorBase(ABC):
    """Base class for custom distances. Override `element_compare`, and `preprocessing` to transform values first
    (layouts, quantization). `inspector` is set before they are called.
    """

    inspector: Inspector | None = None

    def __init__(self, inspector: Inspector | None = None) -> None:
        self.inspector = inspector

    def preprocessing(self, mapping: IntermediateOutputMapping) -> IntermediateOutputMapping:
        """Transform the found pairs to the pairs to compare."""
        return mapping

    @abstractmethod
    def element_compare(self, a: Any, b: Any) -> float:
        """Distance between the exported program's value `a` and the runtime's value `b`."""

    def distances(self, a: Any, b: Any) -> list[float]:
        """One distance, or the distances between the items of two sequences. Raises ValueError for different
        lengths.
        """
        if isinstance(a, Sequence) != isinstance(b, Sequence) or (isinstance(a, Sequence) and len(a) != len(b)):
            raise ValueError(f"expected a sequence of equal length: found {a!r} and {b!r}")
        pairs = zip(a, b, strict=True) if isinstance(a, Sequence) else [(a, b)]
        return [self.element_compare(x, y) for x, y in pairs]


class MSEComparator(NumericalComparatorBase):
    """Mean of squared differences."""

    def element_compare(self, a: Any, b: Any) -> float:
        return mean_squared_error(*_of_one_shape(a, b))


class L1Comparator(NumericalComparatorBase):
    """Sum of absolute differences."""

    def element_compare(self, a: Any, b: Any) -> float:
        return absolute_error(*_of_one_shape(a, b))


class SNRComparator(NumericalComparatorBase):
    """Signal-to-noise ratio in dB: higher is better."""

    def element_compare(self, a: Any, b: Any) -> float:
        return signal_to_noise(*_of_one_shape(a, b))
