# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Every tensor at a place of its own: for finding out whether sharing memory is what is wrong."""

from collections.abc import Collection

from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule

from executorch.exir.memory.result import MemoryAlgoResult, SpecAllocResult
from executorch.exir.memory.solve.arenas import by_arena, unit
from executorch.exir.tensor import TensorSpec


def naive(
    alignment: int,
    specs: Collection[TensorSpec],
    graph_module: GraphModule,
    graph_signature: ExportGraphSignature | None,
    extra_padding: int = 0,
) -> MemoryAlgoResult:
    """One tensor behind the other in each arena. Sizes and padding in bytes."""
    result = MemoryAlgoResult({}, [0, 0])
    for mem_id, members in by_arena(specs).items():
        result.bufsizes += [0] * (mem_id + 1 - len(result.bufsizes))
        end, step = 0, unit(alignment, members)
        for object_id, spec in enumerate(members):
            result.spec_dict[spec] = SpecAllocResult(mem_id, object_id, end)
            end += spec.realign(step)
        result.bufsizes[mem_id] = end + extra_padding
    return result
