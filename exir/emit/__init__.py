# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Emit a Program from planned graphs."""

from executorch.exir.emit.program import EmitterOutput, emit_program

__all__ = ["EmitterOutput", "emit_program"]
