# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The default algorithm: tensors that are not alive at the same time share bytes."""

from collections.abc import Collection

from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule

from executorch.exir.memory.errors import MemoryPlanningError
from executorch.exir.memory.packing import Block, pack, pack_whole
from executorch.exir.memory.result import MemoryAlgoResult, SpecAllocResult, arenas
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
    """Plans every arena on its own; `specs` have their lifetimes set. Sizes and padding in bytes.

    allow_overlapping_allocations=False: a tensor takes the place of another one whole or not at all.
    """
    result = MemoryAlgoResult({}, [0, 0], [0, 0])
    for mem_id, members in sorted(arenas(specs).items()):
        grow = mem_id + 1 - len(result.bufsizes)
        result.bufsizes += [0] * grow
        result.lower_bounds += [0] * grow
        blocks = [_block(spec, alignment) for spec in members]
        packing = pack(blocks) if allow_overlapping_allocations else pack_whole(blocks)
        object_ids: dict[int, int] = {}
        for spec, offset in zip(members, packing.offsets, strict=True):
            object_id = object_ids.setdefault(offset, len(object_ids))
            result.spec_dict[spec] = SpecAllocResult(mem_id, object_id, offset)
        result.bufsizes[mem_id] = packing.height + extra_padding
        result.lower_bounds[mem_id] = packing.lower_bound + extra_padding
    return result


def _block(spec: TensorSpec, alignment: int) -> Block:
    first, last = spec.lifetime
    if first is None or last is None:
        raise MemoryPlanningError(spec.debug(), "the tensor has no lifetime")
    return Block(spec.realign(alignment), first, last)
