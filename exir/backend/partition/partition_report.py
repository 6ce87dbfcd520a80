# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Reasons why nodes were not delegated, which partitioners report, as a log or a table for users."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import torch
from torch.fx import Node
from torch.fx.passes.operator_support import OperatorSupportBase

from executorch.exir.backend.partition.fallback import record_reason
from executorch.exir.error import operator_name

__all__ = ["ReportRejected", "WhyNoPartition", "WhyNoPartitionReporter"]


class WhyNoPartition:
    """`why = WhyNoPartition(logger); why(node, "reason")` logs each refusal at debug level."""

    def __init__(self, logger: logging.Logger) -> None:
        self.logger = logger
        self.node: Node | None = None
        self.reason = ""

    def __call__(self, node: Node, reason: str) -> None:
        self.node, self.reason = node, reason
        record_reason(node, reason)
        self.logger.debug(str(self))

    def __str__(self) -> str:
        return f"WhyNoPartition: Node {self.node} was not partitioned because {self.reason}."


class WhyNoPartitionReporter:
    """Collect the first reason for each rejected node."""

    def __init__(self) -> None:
        self._reasons: dict[Node, str] = {}

    def report_reject(self, node: Node, reason: str) -> None:
        """Record why a partitioner rejects a node. The first reason of a node stays."""
        self._reasons.setdefault(node, reason)
        record_reason(node, reason)

    def get_table_report(self) -> str:
        """Return a table of node name, operator, original torch function and reason; without inputs and outputs."""
        rows = [
            (node.name, operator_name(node.target), node.meta.get("torch_fn", "-"), reason)
            for node, reason in self._reasons.items()
            if node.op not in ("placeholder", "output")
        ]
        if not rows:
            return "No nodes rejected."
        from tabulate import tabulate

        headers = ("Node name", "Target", "Torch func", "Reason")
        return str(tabulate(rows, headers=headers, tablefmt="fancy_grid", maxcolwidths=35))

    def wrap_check(self, operator_support: OperatorSupportBase, message: str) -> OperatorSupportBase:
        """Return the same check, which reports `message` for each node that it rejects."""
        return ReportRejected(operator_support, self, message)


class ReportRejected(OperatorSupportBase):
    """`operator_support`, with every rejection reported to `reporter`."""

    def __init__(self, operator_support: OperatorSupportBase, reporter: WhyNoPartitionReporter, message: str) -> None:
        super().__init__()
        self.operator_support = operator_support
        self.reporter = reporter
        self.message = message

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        if self.operator_support.is_node_supported(submodules, node):
            return True
        self.reporter.report_reject(node, self.message)
        return False
