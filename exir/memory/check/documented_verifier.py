# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`Verifier`, the documented queries on the plan of one graph.

The compiler does not use it: `by_lifespans.py` and `by_execution.py` check every plan, subgraphs included.
"""

from collections.abc import Sequence

from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule

from executorch.exir.memory.errors import MemoryPlanningError
from executorch.exir.memory.lifetimes.specs import (
    collect_specs_from_nodes,
    get_graph_input_tensors,
    get_graph_output_tensors,
)
from executorch.exir.tensor import TensorSpec


class Verifier:
    """The plan of one graph without its subgraphs (`check_by_lifespans` covers a whole method)."""

    def __init__(
        self,
        graph_module: GraphModule,
        alloc_graph_input: bool,
        alloc_graph_output: bool,
        alloc_mutable_buffers: bool,
        graph_signature: ExportGraphSignature | None = None,
    ) -> None:
        self.graph_module = graph_module
        self.graph_signature = graph_signature
        self.alloc_graph_input = alloc_graph_input
        self.alloc_graph_output = alloc_graph_output
        self.alloc_mutable_buffers = alloc_mutable_buffers

    @classmethod
    def has_overlap(cls, lhs_ivl: Sequence[int], rhs_ivl: Sequence[int]) -> bool:
        """Return whether two ranges, ends included, share a point; a range that ends before its start is empty."""
        return max(lhs_ivl[0], rhs_ivl[0]) <= min(lhs_ivl[1], rhs_ivl[1])

    @classmethod
    def lifetime_overlap(cls, lhs_spec: TensorSpec, rhs_spec: TensorSpec) -> bool:
        """Return whether two tensors are alive at the same step."""
        return cls.has_overlap(_planned(lhs_spec, lhs_spec.lifetime), _planned(rhs_spec, rhs_spec.lifetime))

    @classmethod
    def storage_overlap(cls, lhs_spec: TensorSpec, rhs_spec: TensorSpec) -> bool:
        """Return whether two planned tensors share a byte."""
        if lhs_spec.mem_id != rhs_spec.mem_id:
            return False
        (lhs,), (rhs,) = (_planned(spec, [spec.mem_offset]) for spec in (lhs_spec, rhs_spec))
        return cls.has_overlap((lhs, lhs + lhs_spec.allocated_memory - 1), (rhs, rhs + rhs_spec.allocated_memory - 1))

    @classmethod
    def mem_obj_id_match(cls, lhs_spec: TensorSpec, rhs_spec: TensorSpec, accept_both_none: bool = True) -> bool:
        """Return whether two tensors have one mem_obj_id; return `accept_both_none` if neither has one."""
        if lhs_spec.mem_id != rhs_spec.mem_id:
            return False
        if lhs_spec.mem_obj_id is None and rhs_spec.mem_obj_id is None:
            return accept_both_none
        return lhs_spec.mem_obj_id == rhs_spec.mem_obj_id

    def verify_storage_reuse(self, allow_lifetime_and_storage_overlap: bool = False) -> int:
        """Return the number of pairs of tensors that share bytes.

        Raises MemoryPlanningError for a pair that is alive at the same time, unless that is allowed.
        """
        specs = list(
            collect_specs_from_nodes(
                self.graph_module.graph.nodes,
                self.graph_signature,
                ignore_graph_input=not self.alloc_graph_input,
                ignore_graph_output=not self.alloc_graph_output,
                ignore_mutable_buffers=not self.alloc_mutable_buffers,
                ignore_out_var_node=False,
            )
        )
        sharing = 0
        for index, lhs in enumerate(specs):
            for rhs in specs[:index]:
                if not self.storage_overlap(lhs, rhs):
                    continue
                if not allow_lifetime_and_storage_overlap and self.lifetime_overlap(lhs, rhs):
                    raise MemoryPlanningError(
                        "two tensors", f"alive together and sharing bytes: {lhs.debug()} and {rhs.debug()}"
                    )
                sharing += 1
        return sharing

    def verify_graph_input_output(self) -> None:
        """Raise MemoryPlanningError if inputs or outputs are planned where they should not be, or the reverse."""
        nodes = self.graph_module.graph.nodes
        inputs = get_graph_input_tensors(nodes, self.graph_signature)
        outputs = get_graph_output_tensors(nodes)
        for kind, specs, others, wanted in (
            ("input", inputs, outputs, self.alloc_graph_input),
            ("output", outputs, inputs, self.alloc_graph_output),
        ):
            for spec in specs - others:
                if spec.const or spec.is_dynamic_unbound_tensor:
                    continue
                if (spec.mem_offset is not None) != wanted:
                    raise MemoryPlanningError(
                        f"graph {kind}", f"expected it {'' if wanted else 'not '}to be planned: {spec.debug()}"
                    )


def _planned(spec: TensorSpec, values: Sequence[int | None]) -> list[int]:
    planned = [value for value in values if value is not None]
    if len(planned) != len(values):
        raise MemoryPlanningError("a tensor", f"it is not planned: {spec.debug()}")
    return planned
