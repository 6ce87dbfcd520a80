# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented pass that computes calls on constants while a graph is interpreted; nothing inside the project
imports it (`fold_constants` works on whole programs)."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree

from executorch.exir.operator.call_effects import draws_random_numbers
from executorch.exir.pass_base import ExportPass, NodeMetadata, ProxyValue

_QUANTIZATION = ("quantized_decomposed::quantize_per_", "quantized_decomposed::dequantize_per_")


class ConstPropPass(ExportPass):
    """Folds calls without inputs (`full`, `arange` …) and calls that depend only on them into attributes of the module.

    Parameters and buffers are inputs of a program's graph, so calls on them stay, as do random numbers.

    propogate_quant: True folds only quantizations and dequantizations, False all other calls.
    """

    def __init__(self, propogate_quant: bool = False) -> None:
        super().__init__()
        self.propogate_quant = propogate_quant

    def call_operator(self, op: Any, args: tuple[object, ...], kwargs: dict[str, object], meta: NodeMetadata) -> Any:
        quantizes = str(op.name()).startswith(_QUANTIZATION)
        constant = not any(isinstance(leaf, ProxyValue) for leaf in pytree.tree_leaves((args, kwargs)))
        if not constant or quantizes != self.propogate_quant or draws_random_numbers(getattr(op, "_op", op)):
            return super().call_operator(op, args, kwargs, meta)
        with torch.no_grad():
            return op(*args, **kwargs)

    def call_getitem(self, value: Any, key: int, meta: NodeMetadata) -> Any:
        return super().call_getitem(value, key, meta) if isinstance(value, ProxyValue) else value[key]
