# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented import path of `executorch.exir.serialize.Cord`."""

from executorch.exir.serialize.cord import Cord

__all__ = ["Cord"]
