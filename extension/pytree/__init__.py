# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the functions of `torch.utils._pytree`, which flatten and rebuild containers, under their documented names.

A program's `container_meta_type` holds such structures as text; `treespec_loads` reads them, `treespec_dumps` writes
them.
"""

from torch.utils._pytree import (
    TreeSpec,
    tree_flatten,
    tree_map,
    tree_unflatten,
    treespec_dumps,
    treespec_loads,
)
from torch.utils._pytree import _broadcast_to_and_flatten as broadcast_to_and_flatten
from torch.utils._pytree import register_pytree_node as register_custom

from_str = treespec_loads

__all__ = [
    "TreeSpec",
    "broadcast_to_and_flatten",
    "from_str",
    "register_custom",
    "tree_flatten",
    "tree_map",
    "tree_unflatten",
    "treespec_dumps",
    "treespec_loads",
]
