# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented import path of `executorch.exir.schema.CompileSpec`."""

from executorch.exir.schema import CompileSpec

__all__ = ["CompileSpec"]
