# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Planning without reuse: each tensor has its own bytes. Use it to find out whether shared memory causes a fault."""

from collections.abc import Collection

from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule

from executorch.exir.memory.arenas import by_arena, offset_unit
from executorch.exir.memory.result import MemoryAlgoResult, SpecAllocResult
from executorch.exir.tensor import TensorSpec


def naive(
    alignment: int,
    specs: Collection[TensorSpec],
    graph_module: GraphModule,
    graph_signature: ExportGraphSignature | None,
    extra_padding: int = 0,
) -> MemoryAlgoResult:
    """Place the tensors of each arena one after the other. Sizes and padding in bytes."""
    result = MemoryAlgoResult({}, [0, 0])
    for mem_id, members in by_arena(specs).items():
        result.bufsizes += [0] * (mem_id + 1 - len(result.bufsizes))
        end, unit = 0, offset_unit(alignment, members)
        for object_id, spec in enumerate(members):
            result.spec_dict[spec] = SpecAllocResult(mem_id, object_id, end)
            end += spec.realign(unit)
        result.bufsizes[mem_id] = end + extra_padding
    return result
