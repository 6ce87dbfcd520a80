# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The result of a planning algorithm: a place for each tensor and a size for each arena."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from executorch.exir.tensor import TensorSpec


@dataclass
class SpecAllocResult:
    """Place of a tensor.

    mem_id: arena, from 1. mem_offset: bytes from its start. mem_obj_id: one for all tensors of a place.
    """

    mem_id: int
    mem_obj_id: int
    mem_offset: int


@dataclass
class MemoryAlgoResult:
    """bufsizes[i] is the size in bytes of arena i; entry 0 is reserved.

    lower_bounds[i]: proven lower bound of the size of arena i; the list is empty if the algorithm proves none.
    """

    spec_dict: dict[TensorSpec, SpecAllocResult]
    bufsizes: list[int]
    lower_bounds: list[int] = field(default_factory=list)

    @property
    def gap(self) -> float:
        """Bytes above the lower bound, as a fraction of it (0.0: the plan is optimal)."""
        bound = sum(self.lower_bounds)
        return (sum(self.bufsizes) - bound) / bound if bound else 0.0

    def write_to_specs(self) -> None:
        """Copy arena, object and offset of each place to its spec."""
        for spec, place in self.spec_dict.items():
            spec.mem_id, spec.mem_obj_id, spec.mem_offset = place.mem_id, place.mem_obj_id, place.mem_offset


# (alignment, specs, graph_module, graph_signature, extra_padding) → sizes of the arenas, the places written to the
# specs; or a MemoryAlgoResult that holds both.
MemoryPlanningAlgorithm: TypeAlias = Callable[..., list[int] | MemoryAlgoResult]
