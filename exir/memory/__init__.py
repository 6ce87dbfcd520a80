# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Memory of a program's tensors: the functions that stand for it in a graph, and (in the modules) its planning."""

from executorch.exir.memory.functions import alloc, free, view

__all__ = ["alloc", "free", "view"]
