# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Tensors of a graph: their specs, their lifetimes, and those that may take the memory of an operand."""
