# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Counts of delegated and undelegated operators of a program, as a summary, a table or a DataFrame."""

from __future__ import annotations

import re
from dataclasses import dataclass

from torch.fx import GraphModule, Node

from executorch.exir.backend.delegate.delegated_graph import get_non_lowered_nodes
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.lowered_backend_module import get_lowered_backend_modules

__all__ = ["DelegationBreakdown", "DelegationInfo", "get_delegation_info", "print_delegation_info"]

_COLUMNS = ("op_type", "occurrences_in_delegated_graphs", "occurrences_in_non_delegated_graphs")


@dataclass
class DelegationBreakdown:
    """Nodes of one operator inside delegates and outside."""

    op_type: str = ""
    delegated: int = 0
    non_delegated: int = 0


@dataclass
class DelegationInfo:
    """Counts over a graph and its control-flow subgraphs."""

    num_delegated_subgraphs: int
    num_delegated_nodes: int
    num_non_delegated_nodes: int
    delegation_by_operator: dict[str, DelegationBreakdown]

    def get_summary(self) -> str:
        """Return three lines of text: the numbers of delegates, of delegated nodes and of other nodes."""
        return (
            f"Total delegated subgraphs: {self.num_delegated_subgraphs}\n"
            f"Number of delegated nodes: {self.num_delegated_nodes}\n"
            f"Number of non-delegated nodes: {self.num_non_delegated_nodes}\n"
        )

    def operator_rows(self) -> list[tuple[str, int, int]]:
        """Return rows (operator, nodes in delegates, nodes outside), sorted by name, then a row "Total"."""
        by_name = sorted(self.delegation_by_operator.values(), key=lambda breakdown: breakdown.op_type)
        rows = [(breakdown.op_type, breakdown.delegated, breakdown.non_delegated) for breakdown in by_name]
        return [*rows, ("Total", self.num_delegated_nodes, self.num_non_delegated_nodes)]

    def operator_table(self) -> str:
        """Return the numbered rows of `operator_rows` as a table with frames, with the columns of the DataFrame."""
        from tabulate import tabulate

        return tabulate(self.operator_rows(), headers=_COLUMNS, tablefmt="fancy_grid", showindex=True)

    def get_operator_delegation_dataframe(self) -> object:
        """Return a pandas DataFrame: the rows of `operator_rows` with columns op_type, occurrences_in_delegated_graphs
        and occurrences_in_non_delegated_graphs.
        """
        import pandas as pd  # type: ignore[import-untyped]  # here: it takes half a second to import

        return pd.DataFrame(self.operator_rows(), columns=list(_COLUMNS))


def get_delegation_info(graph_module: GraphModule) -> DelegationInfo:
    """Count the operators of a lowered graph inside and outside of its delegates."""
    by_operator: dict[str, DelegationBreakdown] = {}

    def count(node: Node, delegated: bool) -> None:
        # Node names are the documented grouping: "aten_add_tensor_3" is an "aten_add_tensor".
        name = re.sub(r"_\d+$", "", node.name)
        breakdown = by_operator.setdefault(name, DelegationBreakdown(name))
        breakdown.delegated += delegated
        breakdown.non_delegated += not delegated

    delegates = 0
    for host in all_graph_modules(graph_module):
        for node in get_non_lowered_nodes(host.graph):
            count(node, delegated=False)
        for module in get_lowered_backend_modules(host):
            delegates += 1
            for node in module.original_module.graph.nodes:
                if node.op == "call_function":
                    count(node, delegated=True)
    return DelegationInfo(
        num_delegated_subgraphs=delegates,
        num_delegated_nodes=sum(breakdown.delegated for breakdown in by_operator.values()),
        num_non_delegated_nodes=sum(breakdown.non_delegated for breakdown in by_operator.values()),
        delegation_by_operator=by_operator,
    )


def print_delegation_info(graph_module: GraphModule) -> None:
    """Print the summary and a table by operator."""
    info = get_delegation_info(graph_module)
    print(info.get_summary())
    print(info.operator_table())
