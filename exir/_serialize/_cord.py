# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The documented import path of the cord; it lives in `executorch.exir.serialize`."""

from executorch.exir.serialize.cord import Cord

__all__ = ["Cord"]
