# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented import path of the classes of `executorch.exir.format.named_data`."""

from executorch.exir.format.named_data import NamedDataStore, NamedDataStoreOutput

__all__ = ["NamedDataStore", "NamedDataStoreOutput"]
