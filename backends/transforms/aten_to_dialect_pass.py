# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Base class of passes that replace ATen operators by operators of a backend's dialect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import fx
from torch.export import ExportedProgram
from torch.fx.node import Target
from torch.fx.passes.infra.pass_base import PassResult

from executorch.backends.transforms.dead_code import without_dead_code
from executorch.exir.pass_base import ExportPass


@dataclass
class DialectNodeSpec:
    """The call that replaces a node."""

    op: Target
    args: tuple[Any, ...]
    kwargs: dict[str, Any] | None = None


class AtenToDialectPass(ExportPass):
    """Replaces calls of registered operators. A subclass registers a function for each operator:

    ```python
    class ToMyDialect(AtenToDialectPass): ...

    @ToMyDialect.register_dialect_substitution(ops.edge.aten.add.Tensor)
    def substitute(node, dialect_pass):  # a DialectNodeSpec, or None to leave the node
    ```

    exported_program: the program of the graph, for functions that add constants or buffers to it.
    """

    _DIALECT_SUBSTITUTIONS: ClassVar[dict[Target, SubstitutionFn]] = {}

    def __init__(self, exported_program: ExportedProgram) -> None:
        super().__init__()
        self.exported_program = exported_program

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._DIALECT_SUBSTITUTIONS = {}

    @classmethod
    def register_dialect_substitution(cls, target: Target) -> Callable[[SubstitutionFn], SubstitutionFn]:
        """Decorator that registers a function for `target`. Raises RuntimeError if `target` already has one."""

        def register(function: SubstitutionFn) -> SubstitutionFn:
            if target in cls._DIALECT_SUBSTITUTIONS:
                raise RuntimeError(f"Multiple substitutions registered for the same target in {cls.__name__}: {target}")
            cls._DIALECT_SUBSTITUTIONS[target] = function
            return function

        return register

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for node in list(graph_module.graph.nodes):
            substitution = self._DIALECT_SUBSTITUTIONS.get(node.target) if node.op == "call_function" else None
            spec = substitution(node, self) if substitution is not None else None
            if spec is None:
                continue
            with graph_module.graph.inserting_before(node):
                new_node = graph_module.graph.create_node("call_function", spec.op, spec.args, spec.kwargs or {})
            new_node.meta = dict(node.meta)
            trace = f"{node.meta.get('stack_trace', '')}\n{type(self).__name__} replaced {node.target}"
            new_node.meta["stack_trace"] = trace
            node.replace_all_uses_with(new_node)
            graph_module.graph.erase_node(node)
            modified = True
        if not modified:
            return PassResult(graph_module, False)
        return super().call(without_dead_code(graph_module))


SubstitutionFn = Callable[[fx.Node, AtenToDialectPass], DialectNodeSpec | None]
