# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Annotate the values of a graph that will be quantized, in the form that torchao's prepare functions read."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, cast

import torch
from torch.fx import Graph, GraphModule, Node
from torchao.quantization.pt2e.quantizer import (  # type: ignore[import-untyped]
    QuantizationAnnotation,
    QuantizationConfig,
    QuantizationSpec,
    SharedQuantizationSpec,
)
from torchao.quantization.pt2e.quantizer.quantizer import Q_ANNOTATION_KEY  # type: ignore[import-untyped]

from executorch.backends.xnnpack.quantizer.masks import is_readable
from executorch.backends.xnnpack.quantizer.patterns import (
    BATCH_NORM,
    TRANSPOSED,
    Kind,
    Pattern,
    is_float32,
    only_follower,
)
from executorch.exir.error import Rejection
from executorch.exir.operator.call_effects import draws_random_numbers, written_values

_LARGEST_OBSERVED = 3.4028235e15
"""Largest magnitude of a constant that torch's histogram observer accepts."""

_GROUPS = 6
"""Position of the `groups` argument in all convolutions."""


def is_annotated(node: Node) -> bool:
    """Return whether a node has an annotation, including one that keeps it in float."""
    annotation = node.meta.get(Q_ANNOTATION_KEY)
    return bool(annotation is not None and annotation._annotated)


def quantized_result(node: Node) -> Any:
    """Quantization spec of a node's result; None if it stays float."""
    annotation = node.meta.get(Q_ANNOTATION_KEY)
    return None if annotation is None else annotation.output_qspec


def _write(node: Node, operands: dict[Node, Any], result: Any) -> None:
    node.meta[Q_ANNOTATION_KEY] = QuantizationAnnotation(operands, result, _annotated=True)


def refusal(node: Node, pattern: Pattern, config: QuantizationConfig, constants: Collection[Node]) -> Rejection | None:
    """Return why a call stays float; None if it can be quantized as configured. constants: those of its graph."""
    if is_dynamic(config) and not pattern.dynamic:
        return Rejection("dynamic quantization supports only linear layers and convolutions")
    operands = tensors_read(node)
    if not operands or not all(_may_be_observed(tensor, node, config) for tensor in [*operands, node]):
        dtypes = sorted({str(getattr(tensor.meta.get("val"), "dtype", None)) for tensor in [*operands, node]})
        return Rejection(f"its tensors are {' and '.join(dtypes)}, expected torch.float32")
    if pattern.kind is not Kind.WEIGHTED:
        return _refusal_of_operands(node)
    if node.args[1] not in constants:
        return Rejection("its weights are computed, expected constants")
    return _refusal_of_weights(node, config)


def is_dynamic(config: QuantizationConfig) -> bool:
    """Return whether activations are quantized with the range that they have at run time."""
    return config.input_activation is not None and bool(config.input_activation.is_dynamic)


def _may_be_observed(value: Node, reader: Node, config: QuantizationConfig) -> bool:
    """Return whether observers accept a tensor: float32, and float16 of dynamically quantized linear layers."""
    takes_half = is_dynamic(config) and reader.target is torch.ops.aten.linear.default
    return is_float32(value) or (takes_half and getattr(value.meta.get("val"), "dtype", None) is torch.float16)


def tensors_read(node: Node) -> list[Node]:
    """The operands of a call that may be quantized, in order: all of a list, else the first two that are tensors."""
    first = node.args[0]
    if isinstance(first, (list, tuple)):
        return [operand for operand in first if isinstance(operand, Node)]
    return [argument for argument in node.args[:2] if isinstance(argument, Node)]


def _refusal_of_operands(node: Node) -> Rejection | None:
    for tensor in tensors_read(node):
        if tensor.op == "get_attr" and _is_huge(tensor):
            return Rejection(f"its constant {tensor.target} has a magnitude above {_LARGEST_OBSERVED}")
    return None


def _is_huge(node: Node) -> bool:
    owner = cast(GraphModule, node.graph.owning_module)
    path, _, name = str(node.target).rpartition(".")
    tensor = getattr(owner.get_submodule(path), name)
    return is_readable(tensor) and max(abs(float(bound)) for bound in tensor.detach().aminmax()) > _LARGEST_OBSERVED


def constants_of(graph: Graph) -> set[Node]:
    """Return the nodes that compute the same value at every call: from parameters, buffers and sizes alone."""
    constants: set[Node] = set()
    written = {node.target for node in written_values(graph) if node.op == "get_attr"}
    for node in graph.nodes:
        is_read_only = node.op == "get_attr" and node.target not in written
        is_call = node.op == "call_function" and constants.issuperset(node.all_input_nodes)
        if is_read_only or (is_call and not draws_random_numbers(node.target)):
            constants.add(node)
    return constants


def _groups(node: Node) -> int:
    return cast(int, node.args[_GROUPS]) if len(node.args) > _GROUPS else cast(int, node.kwargs.get("groups", 1))


def _refusal_of_weights(node: Node, config: QuantizationConfig) -> Rejection | None:
    weight = cast(Node, node.args[1])
    several = config.weight is not None and config.weight.qscheme == torch.per_channel_symmetric
    transposed = node.target in TRANSPOSED
    if transposed and several and _groups(node) != 1:
        return Rejection(
            "torchao cannot quantize a grouped transposed convolution per channel: configure it per tensor"
        )
    if is_dynamic(config) and "conv" in str(node.target):
        sizes = weight.meta["val"].shape
        if len(sizes) != 4:
            return Rejection("dynamic quantization supports only 2-D convolutions")
        if not transposed and _groups(node) > 1 and sizes[1] == 1:
            return Rejection("dynamic quantization does not support depthwise convolutions")
    return None


def annotate(node: Node, pattern: Pattern, config: QuantizationConfig, is_chosen: Callable[[Node], bool]) -> None:
    """Annotate a call that `refusal` accepts, and the calls that will be fused into it.

    is_chosen: returns whether a call has the same configuration.
    """
    if pattern.kind is Kind.WEIGHTED:
        _annotate_weighted(node, pattern, config, is_chosen)
    elif pattern.kind is Kind.COMPUTED:
        last = last_made_with(node, pattern, config, is_chosen)
        _annotate_chain(node, last, dict.fromkeys(tensors_read(node), config.input_activation), config)
    elif pattern.kind is Kind.SHARED:
        _annotate_shared(node, config)


def last_made_with(node: Node, pattern: Pattern, config: QuantizationConfig, is_chosen: Callable[[Node], bool]) -> Node:
    """The last call that will be fused into `node`: batch norm when training, then an activation."""
    if config.output_activation is None:
        return node
    last = node
    for operators in (BATCH_NORM if pattern.kind is Kind.WEIGHTED and config.is_qat else (), pattern.followers):
        follower = only_follower(last, operators)
        if follower is not None and is_chosen(follower) and not is_annotated(follower):
            last = follower
    return last


def _annotate_weighted(
    node: Node, pattern: Pattern, config: QuantizationConfig, is_chosen: Callable[[Node], bool]
) -> None:
    weight: QuantizationSpec | None = config.weight
    if weight is not None and weight.ch_axis is not None and pattern.channels:
        weight = replace(weight, ch_axis=pattern.channels)
    operands = {node.args[0]: config.input_activation, node.args[1]: weight}
    bias = node.args[2] if len(node.args) > 2 else node.kwargs.get("bias")
    if isinstance(bias, Node):
        operands[bias] = config.bias
    _annotate_chain(node, last_made_with(node, pattern, config, is_chosen), operands, config)


def _annotate_chain(node: Node, last: Node, operands: dict[Any, Any], config: QuantizationConfig) -> None:
    """Annotate the operands of the first call and the result of the last; values between stay float."""
    step = node
    while step is not last:
        _write(step, {}, None)
        (step,) = step.users
    _write(node, operands, None)
    operands = operands if node is last else {}
    _write(last, operands, config.output_activation)


def _annotate_shared(node: Node, config: QuantizationConfig) -> None:
    """Observe one operand, the first quantized one or else the first; other operands and the result share its spec."""
    sources = tensors_read(node)
    if not isinstance(node.args[0], (list, tuple)):
        sources = sources[:1]
    owner = next((source for source in sources if quantized_result(source) is not None), sources[0])
    shared = SharedQuantizationSpec((owner, node))
    first = config.input_activation
    if len(sources) == 1 and quantized_result(owner) is not None:
        first = SharedQuantizationSpec(owner)
    _write(node, {owner: first, **{source: shared for source in sources if source is not owner}}, shared)


def pass_on(node: Node) -> None:
    """Annotate a call that only moves or clamps values if its operand is quantized."""
    source = node.args[0]
    if not isinstance(source, Node) or is_annotated(node) or quantized_result(source) is None or not is_float32(node):
        return
    shared = SharedQuantizationSpec(source)
    _write(node, {source: shared}, shared)
