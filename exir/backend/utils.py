# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented import path of functions for partitioners, backends and readers of delegated graphs."""

from executorch.exir.backend.delegate.delegate_mapping import DelegateMappingBuilder
from executorch.exir.backend.delegate.delegated_graph import (
    format_delegated_graph,
    get_delegated_payload,
    get_delegates,
    get_non_lowered_nodes,
    print_delegated_graph,
)
from executorch.exir.backend.delegate.delegation_info import (
    DelegationBreakdown,
    DelegationInfo,
    get_delegation_info,
    print_delegation_info,
)
from executorch.exir.backend.delegate.graph_identity import is_identical_graph
from executorch.exir.backend.partition.constant_tagging import is_constant_data, tag_constant_data, tag_mutated_buffer
from executorch.exir.backend.partition.partition_report import ReportRejected, WhyNoPartition, WhyNoPartitionReporter
from executorch.exir.backend.partition.shape_dynamism import is_shape_dynamic
from executorch.exir.backend.partition.subgraph_programs import programs_of

__all__ = [
    "DelegateMappingBuilder",
    "DelegationBreakdown",
    "DelegationInfo",
    "ReportRejected",
    "WhyNoPartition",
    "WhyNoPartitionReporter",
    "format_delegated_graph",
    "get_delegated_payload",
    "get_delegates",
    "get_delegation_info",
    "get_non_lowered_nodes",
    "is_constant_data",
    "is_identical_graph",
    "is_shape_dynamic",
    "print_delegated_graph",
    "print_delegation_info",
    "programs_of",
    "tag_constant_data",
    "tag_mutated_buffer",
]
