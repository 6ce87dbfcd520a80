# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""First-fit planning, fast and close to the optimum: tensors that are not alive at the same time may share bytes."""

from collections.abc import Collection

from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule

from executorch.exir.memory.arenas import plan_arenas
from executorch.exir.memory.result import MemoryAlgoResult
from executorch.exir.memory.solve.first_fit import first_fit
from executorch.exir.memory.solve.whole_places import whole_places
from executorch.exir.tensor import TensorSpec


def greedy(
    alignment: int,
    specs: Collection[TensorSpec],
    graph_module: GraphModule,
    graph_signature: ExportGraphSignature | None,
    extra_padding: int = 0,
    *,
    allow_overlapping_allocations: bool = True,
) -> MemoryAlgoResult:
    """Plan every arena on its own; `specs` have their lifetimes set. Sizes and padding in bytes.

    allow_overlapping_allocations=False: a tensor takes the whole place of another one or no part of it.
    """
    return plan_arenas(first_fit if allow_overlapping_allocations else whole_places, alignment, specs, extra_padding)
