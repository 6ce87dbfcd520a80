# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Memory of a program's tensors: `alloc`, `free` and `view` of graphs; the modules plan it (README.md)."""

from executorch.exir.memory.functions import alloc, free, view

__all__ = ["alloc", "free", "view"]
