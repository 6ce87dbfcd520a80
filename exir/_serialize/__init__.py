# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Functions that read and write `.pte` files, under the names that other packages import."""

from executorch.exir._serialize._program import PTEFile as _PTEFile
from executorch.exir._serialize._program import deserialize_pte_binary as _deserialize_pte_binary
from executorch.exir._serialize._program import serialize_pte_binary as _serialize_pte_binary

__all__ = ["_PTEFile", "_deserialize_pte_binary", "_serialize_pte_binary"]
