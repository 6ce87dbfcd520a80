# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented names of memory planning, over `executorch.exir.memory`."""

from collections.abc import Iterable

from torch import fx
from torch.utils import _pytree as pytree

from executorch.exir.memory.algorithms.exact import exact
from executorch.exir.memory.algorithms.greedy import greedy
from executorch.exir.memory.algorithms.hierarchy import MemoryHierarchy
from executorch.exir.memory.algorithms.naive import naive
from executorch.exir.memory.algorithms.suite import MemoryPlanningAlgorithmSuite
from executorch.exir.memory.apply import apply_algo, update_all_tensors_lifetime
from executorch.exir.memory.check.by_lifespans import check_by_lifespans as validate_plan
from executorch.exir.memory.check.documented_verifier import Verifier
from executorch.exir.memory.errors import MemoryPlanningError
from executorch.exir.memory.lifetimes.liveness import Liveness, find_lifetimes
from executorch.exir.memory.lifetimes.specs import (
    collect_specs_from_nodes,
    get_graph_input_tensors,
    get_graph_output_tensors,
    get_node_tensor_specs,
)
from executorch.exir.memory.plan import Arena, MemoryPlan, PlannedTensor
from executorch.exir.memory.result import MemoryAlgoResult, SpecAllocResult
from executorch.exir.memory.sizes.unbound import insert_calls_to_free

__all__ = [
    "Arena",
    "Liveness",
    "MemoryAlgoResult",
    "MemoryHierarchy",
    "MemoryPlan",
    "MemoryPlanningAlgorithmSuite",
    "MemoryPlanningError",
    "PlannedTensor",
    "SpecAllocResult",
    "Verifier",
    "apply_algo",
    "collect_specs_from_nodes",
    "exact",
    "filter_nodes",
    "find_lifetimes",
    "get_graph_input_tensors",
    "get_graph_output_tensors",
    "get_node_tensor_specs",
    "greedy",
    "insert_calls_to_free",
    "naive",
    "update_all_tensors_lifetime",
    "validate_plan",
]


def filter_nodes(inputs: Iterable[object]) -> Iterable[fx.Node]:
    """Return the nodes among a node's arguments, including items of lists and dicts."""
    return [leaf for leaf in pytree.tree_leaves(list(inputs)) if isinstance(leaf, fx.Node)]
