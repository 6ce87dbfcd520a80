# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Products of float32 whose factors XNNPACK may round to bfloat16, and those that an error budget keeps in float32.

The error of a program is that of its worst float output on the example inputs: |rounded - exact| / |exact|, with
Euclidean norms over the elements that are finite in the exact result. Errors of different products are nearly
independent, so the products whose rounding alone causes the largest error are kept first.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Interpreter, Node

from executorch.backends.xnnpack.lowering.facts import operator_of, tensors_of

__all__ = ["is_float32_product", "products_to_keep"]

# Operator → positions of its factors.
_FACTORS = {
    "aten.linear.default": (0, 1),
    "aten.convolution.default": (0, 1),
    "aten.mm.default": (0, 1),
    "aten.bmm.default": (0, 1),
    "aten.matmul.default": (0, 1),
    "aten.addmm.default": (1, 2),
}


def is_float32_product(node: Node) -> bool:
    """Return whether a node multiplies and sums factors of float32."""
    return operator_of(node) in _FACTORS and all(
        factor.meta["val"].dtype == torch.float32 for factor in tensors_of(node)
    )


def products_to_keep(program: ExportedProgram, products: Sequence[Node], max_error: float) -> list[Node]:
    """Return the fewest products that must stay in float32 for an error of the program of at most `max_error`.

    products: of the program's own graph. The program runs once for each, and a few times more.
    Raises ValueError for a program without example inputs.
    """
    if program.example_inputs is None:
        raise ValueError("max_error measures on the example inputs, which this program lacks; export it with them")
    inputs = program._graph_module_flat_inputs(*program.example_inputs)

    def run(rounded: Collection[Node]) -> list[torch.Tensor]:
        with torch.no_grad():
            outputs = _Rounding(program.graph_module, rounded).run(*inputs)
        return [output for output in outputs if isinstance(output, torch.Tensor) and output.is_floating_point()]

    exact = [result.clone() for result in run(())]
    alone = {node: _error(exact, run([node])) for node in products}
    worst_first = sorted(products, key=lambda node: -alone[node])
    fewest, most = 0, len(worst_first)  # keeping all meets any budget
    while fewest < most:
        kept = (fewest + most) // 2
        if _error(exact, run(worst_first[kept:])) <= max_error:
            most = kept
        else:
            fewest = kept + 1
    return worst_first[:most]


class _Rounding(Interpreter):
    """Runs a graph with the factors of some products rounded to bfloat16."""

    def __init__(self, module: torch.fx.GraphModule, rounded: Collection[Node]) -> None:
        super().__init__(module)
        self._rounded = frozenset(rounded)

    def run_node(self, n: Node) -> Any:
        if n not in self._rounded:
            return super().run_node(n)
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        factors = _FACTORS[operator_of(n)]
        rounded = [operand.bfloat16().float() if place in factors else operand for place, operand in enumerate(args)]
        return self.call_function(n.target, tuple(rounded), kwargs)


def _error(exact: Sequence[torch.Tensor], rounded: Sequence[torch.Tensor]) -> float:
    return max((_relative(*pair) for pair in zip(exact, rounded, strict=True)), default=0.0)


def _relative(exact: torch.Tensor, rounded: torch.Tensor) -> float:
    is_finite = exact.isfinite()
    signal, other = exact[is_finite].double(), rounded[is_finite].double()
    noise = float((other - signal).norm())
    if noise == 0:
        return 0.0
    error = noise / float(signal.norm()) if signal.any() else math.inf
    return math.inf if math.isnan(error) else error
