# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Liveness: the first and the last step at which each tensor of a method must hold its value.

Steps number all nodes of the method in the order of emission, including those of control-flow subgraphs, without
allocations: with one numbering, one plan covers everything. Operands of a control-flow node live until the node is
done; tensors that a loop carries or collects live during the whole loop. A use of a view is a use of its base.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_leaves

from executorch.exir.graph_module import get_control_flow_submodules
from executorch.exir.memory.functions import alloc
from executorch.exir.memory.lifetimes.specs import get_node_tensor_specs, placeholder_specs, written_placeholder_names
from executorch.exir.memory.lifetimes.subgraphs import hop, placeholders, result_specs, subgraph_inputs
from executorch.exir.tensor import TensorSpec, ViewSpec


@dataclass
class Liveness:
    """Lifetimes of the tensors of a method.

    `names`: every tensor of the method, with the name of the first node that represents it; its spec's `lifetime` is
    [first, last] step, both included. `steps`: the step of every node; of a control-flow node, the step at which it is
    done.
    """

    names: dict[TensorSpec, str] = field(default_factory=dict)
    last_step: int = 0
    steps: dict[Node, int] = field(default_factory=dict)


def find_lifetimes(graph_module: GraphModule, signature: ExportGraphSignature | None = None) -> Liveness:
    """Set the lifetime of every tensor's spec. Subgraphs must be bound first (`bind_subgraphs`)."""
    walk = _Walk(signature)
    walk.method(graph_module)
    return Liveness(walk.names, walk.step, walk.steps)


class _Walk:
    def __init__(self, signature: ExportGraphSignature | None) -> None:
        self.signature = signature
        self.step = 0
        self.names: dict[TensorSpec, str] = {}
        self.steps: dict[Node, int] = {}

    def method(self, graph_module: GraphModule) -> None:
        self.graph(graph_module, results=())
        nodes = graph_module.graph.nodes
        for node in nodes:
            if node.op == "placeholder":
                for spec in get_node_tensor_specs(node):
                    spec.lifetime = [0, spec.lifetime[1]]
        for spec in placeholder_specs(nodes, written_placeholder_names(self.signature)):
            spec.lifetime = [0, self.step]

    def graph(self, graph_module: GraphModule, results: Iterable[object]) -> None:
        """Number a graph. `results`: the specs of the outer node, which hold values from the end of this graph on."""
        calls: dict[Node, list[GraphModule]] = {}
        for _, subgraph, node in get_control_flow_submodules(graph_module):
            calls.setdefault(node, []).append(subgraph)
        for node in graph_module.graph.nodes:
            if node.target is alloc:
                continue  # no instruction: the tensor begins where it is written
            self.step += 1
            self.steps[node] = self.step
            self.use(node, node.meta.get("spec") if node not in calls else None)
            for used in node.all_input_nodes:
                self.use(used, used.meta.get("spec"))
            if node in calls:
                self.control_flow(node, calls[node])
            elif node.op == "output":
                self.use(node, results)

    def control_flow(self, node: Node, subgraphs: list[GraphModule]) -> None:
        is_loop = node.target is not hop.cond
        results = result_specs(node)
        if is_loop:
            self.use(node, results)
            # The slices that a loop works on are all written before its body begins.
            for placeholder, outer in zip(placeholders(subgraphs[-1]), subgraph_inputs(node), strict=True):
                if outer is None:
                    self.use(placeholder, placeholder.meta.get("spec"))
        for subgraph in subgraphs:
            self.graph(subgraph, () if is_loop else results)
        self.step += 1
        self.steps[node] = self.step
        self.use(node, results)
        for used in node.all_input_nodes:
            self.use(used, used.meta.get("spec"))

    def use(self, node: Node, specs: object) -> None:
        """Extend the lifetimes of the tensors among `specs` to the current step."""
        for spec in tree_leaves(specs):
            if not isinstance(spec, TensorSpec):
                continue
            spec = spec.base if isinstance(spec, ViewSpec) else spec
            if spec not in self.names:
                self.names[spec] = node.name
                spec.lifetime = [self.step, self.step]
            # Steps only grow, so the first one stays.
            spec.lifetime = [spec.lifetime[0], self.step]
