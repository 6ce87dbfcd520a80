# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`explain(program)`: account for each byte of memory that running a program takes."""

from executorch.devtools.memory.explain import explain
from executorch.devtools.memory.explanation import ArenaUse, Figure, MemoryExplanation, MethodMemory

__all__ = ["ArenaUse", "Figure", "MemoryExplanation", "MethodMemory", "explain"]
