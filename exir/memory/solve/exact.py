# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The default algorithm: the lowest plan that can be found in bounded time, with a proof of how good it is."""

from collections.abc import Collection

from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule

from executorch.exir.memory.result import MemoryAlgoResult
from executorch.exir.memory.solve.arenas import plan_arenas
from executorch.exir.memory.solve.search import search
from executorch.exir.tensor import TensorSpec

IN_PLACE = "in_place_candidates"
"""Key of `graph_module.meta` under which algorithms find what may be done in place: result → operand."""


def exact(
    alignment: int,
    specs: Collection[TensorSpec],
    graph_module: GraphModule,
    graph_signature: ExportGraphSignature | None,
    extra_padding: int = 0,
) -> MemoryAlgoResult:
    """As `greedy`, then branch and bound with a bounded effort; results in place of operands that die there.

    Never above `greedy`; the same program gives the same plan on every machine. Sizes and padding in bytes.
    """
    return plan_arenas(search, alignment, specs, extra_padding, graph_module.meta.get(IN_PLACE))
