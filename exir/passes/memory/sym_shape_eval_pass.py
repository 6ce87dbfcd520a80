# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace dynamic sizes by their upper bounds, for which memory is planned.

The runtime allocates tensors with a size without bound when it knows the size.
"""

from __future__ import annotations

import warnings

import torch
from torch import fx
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from torch.utils import _pytree as pytree

from executorch.exir.error import ExportError
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.schema import TensorShapeDynamism
from executorch.exir.sym_util import upper_bound
from executorch.exir.tensor import TensorSpec, stride_from_dim_order


def hint(size: int | torch.SymInt) -> int | None:
    """Return the size in the example inputs, or None if it depends on data."""
    if isinstance(size, int):
        return size
    return size.node.hint if size.node.has_hint() else None


# Maximum number of tensors that a warning names.
_NAMED = 4


class _SymShapeEvalPass(PassBase):
    """Replaces symbolic sizes in specs by a number and marks the spec as dynamic with a bound."""

    _missing = ""

    allow_unbounded = False

    def evaluate(self, size: int | torch.SymInt) -> int | None:
        raise NotImplementedError

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        unbounded: dict[TensorSpec, str] = {}
        for module in all_graph_modules(graph_module):
            for node in module.graph.nodes:
                for spec in pytree.tree_leaves(node.meta.get("spec")):
                    if isinstance(spec, TensorSpec) and not all(isinstance(size, int) for size in spec.shape):
                        dimensions = self._bound(node, spec)
                        if dimensions:
                            unbounded[spec] = f"{node.name} (dimension {dimensions})"
        if unbounded:
            warnings.warn(_explain(list(unbounded.values()), self._missing), UserWarning, stacklevel=1)
        return PassResult(graph_module, True)

    def _bound(self, node: fx.Node, spec: TensorSpec) -> str:
        """Set the spec's sizes. Return the unbounded dimensions, which get size 0, as text."""
        sizes: list[int] = []
        unbounded: list[str] = []
        for dim, size in enumerate(spec.shape):
            number = self.evaluate(size)
            if number is None and self.allow_unbounded:
                unbounded.append(f"{dim}: {size}")
                number = 0
            if number is None:
                raise ExportError("size bounds", node, f"size {size} of dimension {dim} {self._missing}")
            sizes.append(number)
        spec.symbolic_shape = spec.shape
        spec.shape = sizes
        spec.stride = tuple(stride_from_dim_order(sizes, spec.dim_order))
        dynamism = TensorShapeDynamism.DYNAMIC_UNBOUND if unbounded else TensorShapeDynamism.DYNAMIC_BOUND
        spec.shape_dynamism = dynamism
        return ", ".join(unbounded)


def _explain(tensors: list[str], missing: str) -> str:
    more = f" and {len(tensors) - _NAMED} more" if len(tensors) > _NAMED else ""
    return (
        f"no memory is planned for {', '.join(tensors[:_NAMED])}{more}: the size {missing}. The runtime takes their "
        "memory from the dynamic allocator of its MemoryManager while it runs (Python and Module have one); "
        "ConstraintBasedSymShapeEvalPass(allow_unbounded=False) refuses such a program"
    )


class ConstraintBasedSymShapeEvalPass(_SymShapeEvalPass):
    """Takes the upper bounds that `torch.export.Dim(…, max=…)` and `torch._check` state.

    Tensors with an unbounded size are not planned; the pass warns about them. The runtime allocates them from the
    MemoryManager's dynamic allocator when it resizes them. With `allow_unbounded=False`, the pass raises `ExportError`.
    """

    _missing = "has no upper bound; give one with torch.export.Dim(name, max=...) or torch._check(size <= ...)"

    def __init__(self, allow_unbounded: bool = True) -> None:
        super().__init__()
        self.allow_unbounded = allow_unbounded

    def evaluate(self, size: int | torch.SymInt) -> int | None:
        return upper_bound(size)


class HintBasedSymShapeEvalPass(_SymShapeEvalPass):
    """Takes the sizes of the example inputs as upper bounds, or the stated bound of a size that depends on data.

    Raises `ExportError` for a size that depends on data and is unbounded.
    """

    _missing = (
        "depends on data and has no upper bound; "
        "give one with torch._check(size <= ...), or use ConstraintBasedSymShapeEvalPass"
    )

    def evaluate(self, size: int | torch.SymInt) -> int | None:
        example = hint(size)
        return upper_bound(size) if example is None else example
