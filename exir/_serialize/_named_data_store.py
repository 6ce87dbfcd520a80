# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The documented import path of the named data store; it lives in `executorch.exir.named_data`."""

from executorch.exir.named_data import NamedDataStore, NamedDataStoreOutput

__all__ = ["NamedDataStore", "NamedDataStoreOutput"]
