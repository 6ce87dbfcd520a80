# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Building blocks of `XNNPACKQuantizer` for custom quantizers: the annotator of each kind of call, and torchao's
annotation types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import (  # type: ignore[import-untyped]
    OperatorConfig,
    OperatorPatternType,
    QuantizationAnnotation,
    QuantizationConfig,
    QuantizationSpec,
    SharedQuantizationSpec,
    get_bias_qspec,
    get_input_act_qspec,
    get_output_act_qspec,
    get_weight_qspec,
)

from executorch.backends.xnnpack.quantizer.annotation import (
    annotate,
    constants_of,
    is_annotated,
    last_made_with,
    pass_on,
    refusal,
)
from executorch.backends.xnnpack.quantizer.patterns import (
    BATCH_NORM,
    CONVOLUTIONS,
    PATTERN_OF,
    RELU,
    TRANSPOSED,
    Kind,
    aten,
    only_follower,
)

Filter = Callable[[Node], bool]
Annotator = Callable[..., list[list[Node]]]

_OPERATORS = {
    "linear": (aten.linear.default,),
    "conv": CONVOLUTIONS,
    "conv_transpose": TRANSPOSED,
    "add": (aten.add.Tensor, aten.add_.Tensor),
    "mul": (aten.mul.Tensor, aten.mul_.Tensor),
    "cat": (aten.cat.default,),
    "adaptive_avg_pool2d": (aten.adaptive_avg_pool2d.default,),
}
_WITH_RELU = ("linear", "conv", "conv_transpose", "add", "mul")
_WITH_BATCH_NORM = ("conv", "conv_transpose")

OP_TO_ANNOTATOR: dict[str, Annotator] = {}
"""name → function (model, QuantizationConfig, filter of calls or None) → annotated groups of calls. An annotator with
`_relu` or `_bn` in its name annotates only calls followed by these operators; others annotate all remaining calls.
"""


def register_annotator(op: str) -> Callable[[Annotator], Annotator]:
    """Decorator that registers the function as `OP_TO_ANNOTATOR[op]`."""

    def register(annotator: Annotator) -> Annotator:
        OP_TO_ANNOTATOR[op] = annotator
        return annotator

    return register


def propagate_annotation(model: GraphModule) -> None:
    """Annotate the calls that only move or clamp values, after the calls that produce their operands."""
    for node in model.graph.nodes:
        pattern = PATTERN_OF.get(node.target) if node.op == "call_function" else None
        if pattern is not None and pattern.kind is Kind.PASSED:
            pass_on(node)


def _made_together(node: Node, last: Node) -> list[Node]:
    group = [node]
    while group[-1] is not last:
        group.extend(group[-1].users)
    return group


def _annotator(operators: tuple[Any, ...], has_relu: bool, has_batch_norm: bool) -> Annotator:
    def annotate_all(
        model: GraphModule, quantization_config: QuantizationConfig | None, filter_fn: Filter | None = None
    ) -> list[list[Node]]:
        if quantization_config is None:
            return []
        config, wanted = quantization_config, filter_fn or (lambda node: True)
        groups = []
        constants = constants_of(model.graph)
        for node in model.graph.nodes:
            if node.target not in operators or is_annotated(node) or not wanted(node):
                continue
            pattern = PATTERN_OF[node.target]
            last = last_made_with(node, pattern, config, wanted)
            if (has_relu and last.target not in RELU) or (has_batch_norm and only_follower(node, BATCH_NORM) is None):
                continue
            if refusal(node, pattern, config, constants) is None:
                annotate(node, pattern, config, wanted)
                groups.append(_made_together(node, last))
        return groups

    return annotate_all


for _name, _operators in _OPERATORS.items():
    OP_TO_ANNOTATOR[_name] = _annotator(_operators, False, False)
    if _name in _WITH_RELU:
        OP_TO_ANNOTATOR[f"{_name}_relu"] = _annotator(_operators, True, False)
    if _name in _WITH_BATCH_NORM:
        OP_TO_ANNOTATOR[f"{_name}_bn"] = _annotator(_operators, False, True)
        OP_TO_ANNOTATOR[f"{_name}_bn_relu"] = _annotator(_operators, True, True)

__all__ = [
    "OP_TO_ANNOTATOR",
    "OperatorConfig",
    "OperatorPatternType",
    "QuantizationAnnotation",
    "QuantizationConfig",
    "QuantizationSpec",
    "SharedQuantizationSpec",
    "get_bias_qspec",
    "get_input_act_qspec",
    "get_output_act_qspec",
    "get_weight_qspec",
    "propagate_annotation",
    "register_annotator",
]
