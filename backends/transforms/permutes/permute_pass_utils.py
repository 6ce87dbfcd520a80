# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Base classes and functions shared by the passes on permutations."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import fx
from torch.fx import Node
from torch.fx.passes.infra.pass_base import PassResult

from executorch.backends.transforms.dead_code import without_dead_code
from executorch.exir.dialects._ops import ops
from executorch.exir.dialects.edge._ops import EdgeOpOverload, EdgeOpOverloadPacket
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.pass_base import ExportPass
from executorch.exir.rewrite.node_rewrite import argument, insert_before

_aten: Any = ops.edge.aten
VIEWS = (_aten.view_copy.default, _aten.view.default)


def get_edge_overload_packet(edge_op: EdgeOpOverload) -> EdgeOpOverloadPacket:
    """The packet of an edge operator overload."""
    namespace, name = edge_op._schema.name.split("::")
    return cast(EdgeOpOverloadPacket, getattr(getattr(ops.edge, namespace), name))


def get_shape(graph_module: fx.GraphModule, node: Any) -> torch.Size | None:
    """Sizes of a node's tensor; [1] for a scalar, None for a node without a value."""
    if isinstance(node, (float, int, bool)):
        return torch.Size([1])
    value = node.meta.get("val")
    if value is None and node.op == "get_attr":
        value = getattr(graph_module, node.target)
    return None if value is None else cast(torch.Size, value.shape)


def get_transposed_dims(node: Node, dims: list[int] | None = None) -> list[int]:
    """`dims` with the two entries swapped that the transpose `node` swaps."""
    assert node.target is _aten.transpose_copy.int, f"{node} calls {node.target}, not transpose_copy"
    assert dims is not None, "dims must be given"
    exchanged = list(dims)
    first, second = argument(node, "dim0"), argument(node, "dim1")
    exchanged[first], exchanged[second] = dims[second], dims[first]
    return exchanged


def get_permuted_dims(node: Node, dims: list[int]) -> list[int]:
    """`dims` permuted as the permute `node` permutes dimensions."""
    assert node.target is _aten.permute_copy.default, f"{node} calls {node.target}, not permute_copy"
    return [dims[dim] for dim in argument(node, "dims")]


def get_arg(node: Node, kwarg_name: str, expected_type: Any = None) -> Any:
    """Argument of an operator call by name; the schema's default if the call omits it.

    expected_type: class of the value. Raises TypeError for another type.
    """
    value = argument(node, kwarg_name)
    if isinstance(expected_type, type) and not isinstance(value, expected_type):
        raise TypeError(f"argument '{kwarg_name}' of {node}: expected {expected_type}, found {type(value)}")
    return value


def set_arg(node: Node, kwarg_name: str, value: Any) -> None:
    """Set an argument of an operator call by name: in its position if the call has it there, else as a keyword.

    Raises ValueError if the schema of the operator has no such argument.
    """
    schema: Any = getattr(node.target, "_schema", None)
    names = [item.name for item in schema.arguments] if schema is not None else []
    if kwarg_name not in names:
        raise ValueError(f"{node} calls {node.target}: expected an argument '{kwarg_name}', found {names}")
    if names.index(kwarg_name) < len(node.args):
        node.update_arg(names.index(kwarg_name), value)
    else:
        node.update_kwarg(kwarg_name, value)


def permutation_of(node: Node) -> list[int] | None:
    """Permutation of a transpose or permute, with positive dimensions; None for any other call."""
    if node.op != "call_function":
        return None
    if node.target is _aten.transpose_copy.int:
        return get_transposed_dims(node, list(range(node.meta["val"].dim())))
    if node.target is not _aten.permute_copy.default:
        return None
    dims = list(argument(node, "dims"))
    return get_permuted_dims(node, list(range(len(dims))))


def inverse_permutation(dims: Sequence[int]) -> list[int]:
    """The inverse of the permutation `dims`."""
    return [list(dims).index(position) for position in range(len(dims))]


def extra_unit_dim(longer: Sequence[Any], shorter: Sequence[Any]) -> int | None:
    """Dimension of the size of 1 that `longer` has and `shorter` lacks; None if they differ in another way."""
    if len(longer) != len(shorter) + 1:
        return None
    return next(
        (i for i, size in enumerate(longer) if size == 1 and [*longer[:i], *longer[i + 1 :]] == list(shorter)), None
    )


def insert_view(node: Node, source: Node) -> Node:
    """Insert before `node` a view of `source` with the sizes of `node`'s result."""
    value = node.meta["val"]
    return insert_before(node, _aten.view_copy.default, (source, list(value.shape)), {}, value)


class HierarchicalInplacePassInterface(ExportPass):
    """A pass that changes a graph and its subgraphs of branches and loops in place."""

    @abstractmethod
    def _apply_flat_inplace(self, graph_module: fx.GraphModule) -> bool:
        """Change one graph; return whether anything changed."""

    def _apply_hierarchical_inplace(self, graph_module: fx.GraphModule) -> bool:
        changed = [self._apply_flat_inplace(module) for module in all_graph_modules(graph_module)]
        return any(changed)

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        """Change all graphs; a changed module is interpreted once more, which renews the values of its nodes."""
        if not self._apply_hierarchical_inplace(graph_module):
            return PassResult(graph_module, False)
        return super().call(without_dead_code(graph_module))


class RemoveOrReplacePassInterface(HierarchicalInplacePassInterface):
    """A pass that removes or replaces calls of the operators in `targets`, one at a time."""

    @property
    @abstractmethod
    def targets(self) -> list[EdgeOpOverload]:
        """The operators whose calls the pass visits."""

    @abstractmethod
    def maybe_remove_or_replace(self, node: Node) -> bool:
        """Remove or replace one call; return whether anything changed."""

    def _apply_flat_inplace(self, graph_module: fx.GraphModule) -> bool:
        changed = False
        for target in self.targets:
            for node in graph_module.graph.find_nodes(op="call_function", target=target):
                if node.users:
                    changed |= self.maybe_remove_or_replace(node)
        return changed


class FuseOpPairsAcrossBranchesPass(ExportPass):
    """Base class of passes that fuse a producer with the consumers at the ends of all its paths."""

    def check_ok_to_fuse(self, producer: Node, consumers: list[Node]) -> bool:
        """Return whether a producer and its consumers may be fused; override to restrict."""
        return True

    def can_fuse_for_chain(
        self, producer: Node, consumer: Node, consumer_op_packets: set[EdgeOpOverloadPacket]
    ) -> bool:
        """Return whether a consumer ends a path from the producer; override to restrict."""
        target = consumer.target
        return isinstance(target, EdgeOpOverload) and get_edge_overload_packet(target) in consumer_op_packets

    def get_fuse_candidates(
        self, producer: Node, consumer_op_packets: set[EdgeOpOverloadPacket], bypass_ops: set[EdgeOpOverload]
    ) -> list[Node]:
        """The consumers at the ends of all paths from the producer. Empty if a path crosses an operator outside
        `bypass_ops`.
        """
        candidates: list[Node] = []
        waiting = deque(producer.users)
        while waiting:
            user = waiting.popleft()
            if user.target in bypass_ops:
                waiting.extend(user.users)
            elif self.can_fuse_for_chain(producer, user, consumer_op_packets):
                candidates.append(user)
            else:
                return []
        return candidates

    def find_and_fuse(
        self,
        graph_module: fx.GraphModule,
        producer_op_packets: set[EdgeOpOverloadPacket],
        consumer_op_packets: set[EdgeOpOverloadPacket],
        bypass_ops: set[EdgeOpOverload],
    ) -> bool:
        """Fuse all pairs of one graph; return whether anything changed."""
        modified = False
        for node in list(graph_module.graph.nodes):
            target = node.target
            if node._erased or not isinstance(target, EdgeOpOverload):
                continue
            if get_edge_overload_packet(target) not in producer_op_packets:
                continue
            consumers = self.get_fuse_candidates(node, consumer_op_packets, bypass_ops)
            if consumers and self.check_ok_to_fuse(node, consumers):
                self.fuse(node, consumers, graph_module)
                modified = True
        if modified:
            graph_module.recompile()
        return modified

    def get_fused_node(self, producer: Node, consumer: Node, graph_module: fx.GraphModule) -> Node:
        """The node that replaces a consumer; override for a pair that does not cancel."""
        return consumer

    def fuse(self, node: Node, removal_candidates: list[Node], graph_module: fx.GraphModule) -> None:
        """Remove the producer and replace each consumer by the fused node."""
        source: Any = node.args[0]
        node.replace_all_uses_with(source)
        graph_module.graph.erase_node(node)
        for consumer in removal_candidates:
            consumer.replace_all_uses_with(self.get_fused_node(node, consumer, graph_module))
            graph_module.graph.erase_node(consumer)
