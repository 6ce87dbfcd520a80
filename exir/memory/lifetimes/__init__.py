# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Tensors of a graph: which there are, their lifetimes, and those that may share memory with an operand."""
