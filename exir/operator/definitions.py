# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operators that this project defines for torch, on demand: importing all of them is slow."""

from __future__ import annotations


def define_operators(namespace: str) -> None:
    """Define the operators of a namespace and their out variants. Does nothing for namespaces of other libraries."""
    if namespace == "quantized_decomposed":
        import executorch.exir.operator.quantized
    elif namespace == "quantized_fused":
        import executorch.exir.operator.quantized_fused  # noqa: F401
