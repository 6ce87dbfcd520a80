# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Selection: the operators and precisions that the user configured, and the nodes that must be delegated together."""

from __future__ import annotations

import operator
from collections.abc import Collection, Sequence
from functools import cached_property

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.converted_weights import product_of
from executorch.backends.xnnpack.lowering.facts import is_constant, operator_of, tensors_of
from executorch.backends.xnnpack.lowering.fusion import fused_with, fusions
from executorch.backends.xnnpack.lowering.quantization import DEQUANTIZE, DYNAMIC, PER_CHANNEL, PER_GROUP, QUANTIZE
from executorch.backends.xnnpack.operators import quantization
from executorch.backends.xnnpack.operators.matrix import keeps_weights_in_float
from executorch.backends.xnnpack.operators.normalization import is_own_batch
from executorch.backends.xnnpack.operators.table import refusal, rule_of
from executorch.backends.xnnpack.partition.config.xnnpack_config import ConfigPrecisionType, XNNPartitionerConfig
from executorch.exir.error import Rejection

_NEWER_DTYPES = (torch.bool, torch.bfloat16)
_LAYERS = ("aten.linear.default", "aten.convolution.default")
_DEQUANTIZES = (DEQUANTIZE, PER_CHANNEL, PER_GROUP)
_PART_OF_DYNAMIC = {*DYNAMIC, *(name for names in DYNAMIC.values() for name in names)}


class Selection:
    """The configured operators (None: all) and precisions (None: all), applied to one program.

    for_executorch_1_4: refuse what its runtime lacks.
    """

    def __init__(
        self,
        program: ExportedProgram,
        configs: Sequence[type[XNNPartitionerConfig]] | None,
        precisions: Collection[ConfigPrecisionType] | None,
        for_executorch_1_4: bool,
    ) -> None:
        self._program = program
        self._precisions = None if precisions is None else set(precisions)
        self._is_float_only = self._precisions == {ConfigPrecisionType.FP32}
        if self._precisions is not None and ConfigPrecisionType.STATIC_QUANT in self._precisions:
            self._precisions.add(ConfigPrecisionType.DYNAMIC_QUANT)  # as in ExecuTorch 1.4
        self._configs = None if configs is None else _by_name(configs)
        self._for_executorch_1_4 = for_executorch_1_4

    @cached_property
    def _on_integers(self) -> dict[Node, list[Node]]:
        """Node computed on integers → the node and all nodes fused into it."""

        def is_taken(node: Node) -> bool:
            return refusal(node, self._program) is None

        fused, _ = fusions(self._program, is_taken)
        return {node: [node, *fused_with(node, layer.result)] for node, layer in fused.items() if layer.on_integers}

    @cached_property
    def _in_integers(self) -> set[Node]:
        """Nodes computed on integers; for float partitions only the layers, whose weights are integers."""
        if self._is_float_only:
            return {node for node in self._on_integers if operator_of(node) in _LAYERS}
        return {node for nodes in self._on_integers.values() for node in nodes}

    @cached_property
    def _linear_in_float(self) -> set[Node]:
        """Quantized linear layers that XNNPACK can also compute in float32, and the activations fused into them."""
        layers = [node for node in self._program.graph.nodes if keeps_weights_in_float(node, self._program)]
        members = {member for layer in layers for member in self._on_integers.get(layer, [layer])}
        return {member for member in members if operator_of(member) != QUANTIZE}

    def refusal(self, node: Node) -> Rejection | None:
        """Return why the configuration excludes a node; None if it includes the node."""
        if node.target is operator.getitem:
            return self.refusal(node.args[0])  # type: ignore[arg-type]
        product = product_of(self._program, node)
        if product is not None:
            return self.refusal(product)
        if is_own_batch(node):
            return self.refusal(next(iter(node.users)))
        rejection = self._refuse_newer(node) if self._for_executorch_1_4 else None
        if rejection is not None:
            return rejection
        precision = None if self._precisions is None else self._precision(node)
        if self._precisions is not None and precision is not None and precision not in self._precisions:
            return Rejection(f"config_precisions excludes {precision.name}")
        if self._precisions is not None and precision is None and all(map(self._is_excluded, node.users)):
            return Rejection("config_precisions excludes every reader of this constant")
        if self._configs is None:
            return None
        if self._is_named(node):
            return self._refuse_by_constraints(node, self._configs[_name_of(node)])
        if operator_of(node) in quantization.RULES and any(self._is_named(layer) for layer in self._served(node)):
            return None
        return Rejection("configs excludes this operator")

    def _is_excluded(self, reader: Node) -> bool:
        return reader.op == "call_function" and self.refusal(reader) is not None

    def _refuse_newer(self, node: Node) -> Rejection | None:
        for value in (node, *tensors_of(node)):
            dtype = getattr(value.meta.get("val"), "dtype", None)
            if dtype in _NEWER_DTYPES:
                return Rejection(f"the runtime of ExecuTorch 1.4 lacks {dtype} in delegates")
        rule = rule_of(node)
        if rule is None or not rule.newer(node, self._program):
            return None
        return Rejection("the runtime of ExecuTorch 1.4 lacks a node that it is lowered to")

    def _is_named(self, node: Node) -> bool:
        return self._configs is not None and _name_of(node) in self._configs

    def _refuse_by_constraints(self, node: Node, configs: Sequence[XNNPartitionerConfig]) -> Rejection | None:
        if any(config.check_constraints(node, self._program) for config in configs):
            return None
        names = " and ".join(type(config).__name__ for config in configs)
        return Rejection(f"check_constraints of {names} excludes this call")

    def _precision(self, node: Node) -> ConfigPrecisionType | None:
        """The precision of a node; None for a dequantized constant, which follows its readers."""
        if self._is_float_only and node in self._linear_in_float:
            return ConfigPrecisionType.FP32
        if operator_of(node) in _PART_OF_DYNAMIC or quantization.takes_quantized(node, self._program):
            return ConfigPrecisionType.DYNAMIC_QUANT
        if operator_of(node) in quantization.RULES and is_constant(self._program, node):
            return None
        if operator_of(node) in (QUANTIZE, DEQUANTIZE) or node in self._in_integers:
            return ConfigPrecisionType.STATIC_QUANT
        return ConfigPrecisionType.FP32

    def _served(self, node: Node) -> list[Node]:
        """The operators whose operands or results a node quantizes or dequantizes."""
        served: list[Node] = []
        waiting = [node]
        for current in waiting:
            near = [
                *current.users,
                *(current.all_input_nodes if operator_of(current) in (QUANTIZE, DEQUANTIZE) else ()),
            ]
            served += near
            between = [other for other in near if operator_of(other) in quantization.RULES or _is_dynamic(other)]
            waiting += [other for other in between if other not in waiting]
        return served

    def apart(self, nodes: Sequence[Node]) -> list[list[Node]]:
        """Split a partition into one group for each operator, with the nodes that must be delegated with it."""
        leader = {node: node for node in nodes}
        for node in nodes:
            for other in (*self._on_integers.get(node, ()), *_needed(self._program, node)):
                if other in leader and leader[other] is not leader[node]:
                    first, second = leader[other], leader[node]
                    leader.update({member: first for member, of in leader.items() if of is second})
        groups: dict[Node, list[Node]] = {}
        for node in nodes:
            groups.setdefault(leader[node], []).append(node)
        return list(groups.values())


def _by_name(configs: Sequence[type[XNNPartitionerConfig]]) -> dict[str, list[XNNPartitionerConfig]]:
    found: dict[str, list[XNNPartitionerConfig]] = {}
    for config in configs:
        found.setdefault(config.target_name, []).append(config())
    return found


def _name_of(node: Node) -> str:
    """The name with overload that configurations have, such as "add.Tensor"."""
    return operator_of(node).partition(".")[2]


def _is_dynamic(node: Node) -> bool:
    """Return whether a node is part of a dynamic quantization."""
    if node.target is operator.getitem:
        return isinstance(node.args[0], Node) and _is_dynamic(node.args[0])
    return operator_of(node) in _PART_OF_DYNAMIC


def _needed(program: ExportedProgram, node: Node) -> list[Node]:
    """The operands that must be in the same delegate as a node."""
    if node.target is operator.getitem:
        return list(node.all_input_nodes)
    dequantized = [
        source for source in node.all_input_nodes if operator_of(source) in _DEQUANTIZES and len(source.users) == 1
    ]
    converted = [source for source in node.all_input_nodes if product_of(program, source)]
    return dequantized + converted + [part for part in node.all_input_nodes if _is_dynamic(part) or is_own_batch(part)]
