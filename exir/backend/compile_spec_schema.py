# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The documented import path of CompileSpec; it is a table of the program and lives in `executorch.exir.schema`."""

from executorch.exir.schema import CompileSpec

__all__ = ["CompileSpec"]
