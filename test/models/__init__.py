# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Real architectures, with random weights and example inputs, for tests and benchmarks."""

from .zoo import LARGE_NAMES, NAMES, Example, make

__all__ = ["LARGE_NAMES", "NAMES", "Example", "make"]
