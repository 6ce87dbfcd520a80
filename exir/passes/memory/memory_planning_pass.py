# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""MemoryPlanningPass: assign a memory id and offset to every tensor of a method."""

from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from executorch.exir.memory.algorithms.concurrency import CONCURRENT
from executorch.exir.memory.algorithms.concurrency import concurrent as plan_apart
from executorch.exir.memory.algorithms.suite import MemoryPlanningAlgorithmSuite
from executorch.exir.memory.apply import apply_algo
from executorch.exir.memory.arenas import offset_unit
from executorch.exir.memory.errors import MemoryPlanningError
from executorch.exir.memory.lifetimes.specs import mutable_buffer_names, placeholder_specs
from executorch.exir.memory.result import MemoryPlanningAlgorithm
from executorch.exir.memory.sizes.unbound import insert_calls_to_free
from executorch.exir.tensor import ALIGNMENT, TensorSpec

# Memory id of the buffers that methods share. Arena 1 holds each method's own tensors.
_SHARED_ARENA = 2


class MemoryPlanningPass(PassBase):
    """Plans the memory of methods: an arena and an offset for each tensor.

    memory_planning_algo: called with (alignment, specs, graph_module, graph_signature, extra_padding); sets mem_id
    and mem_offset of the specs and returns the arenas' sizes, entry 0 reserved. Sizes and alignment in bytes.

    alloc_graph_input / _output / _mutable_buffers: True plans these; with False, the caller binds them at run time.
    share_mutable_buffers: buffers of one name share memory across all methods planned with this pass.
    allow_lifetime_and_storage_overlap: accept plans in which tensors alive together share bytes.
    parametric: the plan is a function of the inputs' sizes, which the runtime evaluates for each execution. It records
    arena sizes for the largest inputs (docs/memory-planning.md). Planned inputs and state are in arena 2.
    concurrent: independent instructions of the method may run at the same time (`execute_async`). The default algorithm
    is `concurrent` of exir/memory/algorithms. Emission refuses a plan that makes independent instructions wait.
    Cannot be combined with parametric.
    A subclass may choose arenas: set mem_id of specs in `run` before it calls this one
    (`executorch.exir.memory_planning.MemoryHierarchy` chooses them by a rule). Raises ValueError for arguments that
    exclude each other.
    """

    def __init__(
        self,
        memory_planning_algo: MemoryPlanningAlgorithm | None = None,
        allow_lifetime_and_storage_overlap: bool = False,
        alloc_graph_input: bool = True,
        alloc_graph_output: bool = True,
        alloc_mutable_buffers: bool = True,
        share_mutable_buffers: bool = False,
        alignment: int = ALIGNMENT,
        parametric: bool = False,
        concurrent: bool = False,
    ) -> None:
        if share_mutable_buffers and not alloc_mutable_buffers:
            raise ValueError("share_mutable_buffers needs alloc_mutable_buffers")
        if concurrent and (parametric or allow_lifetime_and_storage_overlap):
            raise ValueError(
                "a plan for concurrent execution is neither parametric nor does it let tensors share bytes"
            )
        default = MemoryPlanningAlgorithmSuite([plan_apart] if concurrent else None)
        self.memory_planning_algo = memory_planning_algo or default
        self.concurrent = concurrent
        self.allow_lifetime_and_storage_overlap = allow_lifetime_and_storage_overlap
        self.alloc_graph_input = alloc_graph_input
        self.alloc_graph_output = alloc_graph_output
        self.alloc_mutable_buffers = alloc_mutable_buffers
        self.share_mutable_buffers = share_mutable_buffers
        if parametric and allow_lifetime_and_storage_overlap:
            raise ValueError("a plan with tensors that share bytes while alive cannot be parametric in shape")
        self.alignment = alignment
        self.parametric = parametric
        self._shared: dict[str, list[TensorSpec]] = {}
        self._only_read: set[str] = set()
        self._planned: list[GraphModule] = []

    def call(self, graph_module: GraphModule) -> PassResult:
        return self.run(graph_module)

    def run(self, graph_module: GraphModule, graph_signature: ExportGraphSignature | None = None) -> PassResult:
        """Plan one method. Raises MemoryPlanningError for an invalid plan."""
        insert_calls_to_free(graph_module)
        apply_algo(
            self.memory_planning_algo,
            graph_module,
            self.alignment,
            graph_signature,
            self.alloc_graph_input,
            self.alloc_graph_output,
            self.alloc_mutable_buffers and not self.share_mutable_buffers,
            allow_overlap=self.allow_lifetime_and_storage_overlap,
            parametric=self.parametric,
        )
        if self.concurrent:
            graph_module.meta[CONCURRENT] = True
        if self.share_mutable_buffers and graph_signature is not None:
            self._planned.append(graph_module)
            nodes = graph_module.graph.nodes
            mutable = mutable_buffer_names(graph_signature)
            self._only_read |= {
                buffer for name, buffer in graph_signature.inputs_to_buffers.items() if name not in mutable
            }
            for name in mutable:
                buffer = graph_signature.inputs_to_buffers[name]
                self._shared.setdefault(buffer, []).extend(placeholder_specs(nodes, {name}))
        return PassResult(graph_module, True)

    def run_multimethod(self) -> None:
        """Place the buffers that the methods share. Call it after every method has been planned.

        Raises MemoryPlanningError if a method stores a shared buffer as a constant, sees it with another size, or uses
        the shared arena itself.
        """
        if not self._planned:
            return
        for name in self._shared.keys() & self._only_read:
            raise MemoryPlanningError(
                name,
                "one method updates this buffer, another one stores it as a constant and would always read its initial "
                "value; rewrite/shared_state.py makes it state there",
            )
        end, unit = 0, offset_unit(self.alignment, (spec for specs in self._shared.values() for spec in specs))
        for name, specs in self._shared.items():
            sizes = {spec.realign(unit) for spec in specs}
            if len(sizes) != 1:
                raise MemoryPlanningError(name, f"the methods that share this buffer see it with sizes {sorted(sizes)}")
            for spec in specs:
                spec.mem_id, spec.mem_offset = _SHARED_ARENA, end
            end += sizes.pop()
        for graph_module in self._planned:
            sizes_of_method = graph_module.meta["non_const_buffer_sizes"]
            if len(sizes_of_method) != _SHARED_ARENA:
                raise MemoryPlanningError(
                    "share_mutable_buffers", f"arena {_SHARED_ARENA} is in use by the method: {sizes_of_method}"
                )
            sizes_of_method.append(end)
        self._shared, self._only_read, self._planned = {}, set(), []
