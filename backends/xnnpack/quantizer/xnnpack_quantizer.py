# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""XNNPACKQuantizer: annotates a captured model for torchao's `prepare_pt2e` or `prepare_qat_pt2e`; call `convert_pt2e`
after calibration or training.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import (  # type: ignore[import-untyped]
    OperatorConfig,
    OperatorPatternType,
    QuantizationConfig,
    Quantizer,
)

from executorch.backends.xnnpack.quantizer.annotation import (
    annotate,
    constants_of,
    is_annotated,
    is_dynamic,
    pass_on,
    refusal,
)
from executorch.backends.xnnpack.quantizer.captured_sizes import warn_of_other_sizes
from executorch.backends.xnnpack.quantizer.choice import Choices, described
from executorch.backends.xnnpack.quantizer.masks import Masks
from executorch.backends.xnnpack.quantizer.normalizations import calls_of_normalizations
from executorch.backends.xnnpack.quantizer.patterns import PATTERN_OF, Kind, is_float32
from executorch.backends.xnnpack.quantizer.symmetric_config import get_symmetric_quantization_config
from executorch.backends.xnnpack.quantizer.zero_factors import ZeroFactorsError, check_factors
from executorch.exir.error import Rejection

_ARITHMETIC = (torch.ops.aten.add.Tensor, torch.ops.aten.sub.Tensor, torch.ops.aten.mul.Tensor)
_HIGHER_ORDER = torch._ops.HigherOrderOperator
_SHOWN_REASONS = 8

_SUPPORTED: list[OperatorPatternType] = [
    *([torch.nn.Conv2d, torch.nn.ReLU], [torch.nn.Conv2d, F.relu], [F.conv2d, torch.nn.ReLU], [F.conv2d, F.relu]),
    *([torch.nn.Linear], [F.linear], [torch.add], [torch.nn.AdaptiveAvgPool2d], [F.adaptive_avg_pool2d]),
]


class NothingQuantizedError(ValueError):
    """No call of the model could be quantized as configured; the message says why."""


class XNNPACKQuantizer(Quantizer):  # type: ignore[misc]
    """Quantizer with configurations for parts of a model. A call takes the first that matches: module name, module
    type, operator, global. The configuration None keeps the part in float.

    If there is no configuration or no call can be quantized, the model stays float and a UserWarning says why; with
    `strict`, prepare raises `NothingQuantizedError` instead.
    """

    def __init__(self, *, strict: bool = False) -> None:
        super().__init__()
        self._strict = strict
        self._choices = Choices()
        self._filter: Callable[[Node], bool] = lambda node: True
        self._reasons: list[str] = []
        self._constants: set[Node] = set()
        self._normalizations: set[Node] = set()
        self._masks = Masks(())
        self._bodies: weakref.WeakSet[GraphModule] = weakref.WeakSet()

    def set_global(self, quantization_config: QuantizationConfig | None) -> XNNPACKQuantizer:
        """Set the configuration of all calls that match no other."""
        self._choices.everywhere = quantization_config
        return self

    def set_operator_type(self, operator_type: Any, quantization_config: QuantizationConfig | None) -> XNNPACKQuantizer:
        """Set the configuration of an operator of the captured graph, such as `torch.ops.aten.linear.default`, or of
        all its overloads: `torch.ops.aten.linear`.
        """
        self._choices.operators[operator_type] = quantization_config
        return self

    def set_module_type(
        self, module_type: Callable[..., Any], quantization_config: QuantizationConfig | None
    ) -> XNNPACKQuantizer:
        """Set the configuration of modules of exactly this class."""
        self._choices.types[module_type] = quantization_config
        return self

    def set_module_name(self, module_name: str, quantization_config: QuantizationConfig | None) -> XNNPACKQuantizer:
        """Set the configuration of the module at a path such as `features.0`."""
        self._choices.names[module_name] = quantization_config
        return self

    def set_filter_function(self, filter_fn: Callable[[Node], bool]) -> XNNPACKQuantizer:
        """Quantize only those calls of the captured graph for which `filter_fn` returns True."""
        self._filter = filter_fn
        return self

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """Turn scalar operands of sums and products that will be quantized into tensors."""
        for node in list(model.graph.nodes):
            config = self._config(node) if node.target in _ARITHMETIC else None
            scalars = [place for place, operand in enumerate(node.args[:2]) if isinstance(operand, (int, float))]
            if config is not None and scalars and is_float32(node) and not is_dynamic(config):
                _as_tensors(model, node, scalars)
        model.recompile()
        return model

    def annotate(self, model: GraphModule) -> GraphModule:
        """Annotate every call in graph order. Raises ZeroFactorsError if training would give NaN."""
        if self._choices.are_empty():
            self._report_nothing(
                "the quantizer lacks a configuration: call set_global(get_symmetric_quantization_config()), or "
                "set_module_name, set_module_type or set_operator_type"
            )
            return model
        # Remove unread statistics of batch norms: they would count as further readers of the convolution.
        model.graph.eliminate_dead_code()
        if self._choices.for_training():
            check_factors(model)
        self._reasons = []
        warn_of_other_sizes(model)
        self._constants = constants_of(model.graph)
        self._normalizations = calls_of_normalizations(model.graph, self._constants)
        self._masks = Masks(self._constants)
        for node in model.graph.nodes:
            if node.op == "call_function" and not is_annotated(node):
                self._decide(node)
        self._constants, self._normalizations, self._masks = set(), set(), Masks(())
        return model

    def _config(self, node: Node) -> QuantizationConfig | None:
        return self._choices.of(node)[0] if node.op == "call_function" and self._filter(node) else None

    def _decide(self, node: Node) -> None:
        pattern = PATTERN_OF.get(node.target)
        if pattern is None:
            return
        config, source = self._choices.of(node)
        if pattern.kind is Kind.PASSED:
            if config is not None or source == "nothing":
                pass_on(node)
            return
        if config is None or not self._filter(node):
            self._reasons.append(f"{described(node)}: no configuration matches it, or the filter excludes it")
            return
        if node in self._constants:
            # Lowering computes it once in float. Masks of large negative numbers and the angles of positions would
            # leave a range of 8 bits no precision for the other values.
            self._reasons.append(f"{described(node)}: it computes a constant")
            return
        rejection = refusal(node, pattern, config, self._constants) or self._refusal_of_role(node)
        if rejection is None:
            annotate(node, pattern, config, lambda other: self._config(other) is config)
        else:
            self._reasons.append(f"{described(node)}: {rejection.reason}")

    def _refusal_of_role(self, node: Node) -> Rejection | None:
        """Return the reason to keep a call in float: 8 bits cannot represent its values, whatever the data are."""
        if node in self._normalizations:
            return Rejection("it is a part of a normalization, which XNNPACK computes in float")
        if self._masks.is_added(node):
            return Rejection("adding a mask leaves 8 bits no precision for the scores")
        return None

    def _report_nothing(self, why: str) -> None:
        if self._strict:
            raise NothingQuantizedError(why)
        warnings.warn(why, UserWarning, stacklevel=2)

    def validate(self, model: GraphModule) -> None:
        """Report a model in which no call, including those in loops, was quantized."""
        if self._choices.are_empty():
            return  # `annotate` reported it
        bodies = [getattr(model, str(node.target), None) for node in model.graph.nodes if node.op == "get_attr"]
        loops = any(isinstance(node.target, _HIGHER_ORDER) for node in model.graph.nodes)
        if any(is_annotated(node) for node in model.graph.nodes):
            self._bodies.update(body for body in bodies if isinstance(body, GraphModule))
        elif model not in self._bodies and not loops:
            shown = [*self._reasons[:_SHOWN_REASONS], *(["…"] if len(self._reasons) > _SHOWN_REASONS else [])]
            known = sorted({str(operator) for operator, row in PATTERN_OF.items() if row.kind is not Kind.PASSED})
            why = "; ".join(shown) if shown else f"it contains none of the supported operators: {', '.join(known)}"
            self._report_nothing(f"nothing of the model is quantized: {why}")

    def prepare_obs_or_fq_callback(self, model: GraphModule, edge_or_node_to_obs_or_fq: dict[Any, Any]) -> None:
        """Give observers the name of their tensor, for their messages."""
        for seen, observer in edge_or_node_to_obs_or_fq.items():
            if observer is None:
                continue
            reader = seen[1] if isinstance(seen, tuple) else None
            place = f"operand {seen[0].name} of {described(reader)}" if reader else f"the result of {described(seen)}"
            observer.__dict__.setdefault("place", place)

    @classmethod
    def get_supported_quantization_configs(cls) -> list[QuantizationConfig]:
        """The static configurations of `get_symmetric_quantization_config`."""
        return [row.config for row in cls.get_supported_operators()]

    @classmethod
    def get_supported_operator_for_quantization_config(
        cls, quantization_config: QuantizationConfig | None
    ) -> list[OperatorPatternType]:
        """Patterns that a configuration supports; None: patterns of all configurations."""
        rows = cls.get_supported_operators()
        fitting = [row for row in rows if quantization_config in (None, row.config)]
        return [pattern for row in fitting for pattern in row.operators]

    @classmethod
    def get_supported_operators(cls) -> list[OperatorConfig]:
        """Configurations and the operator patterns they support."""
        choices = [(per_channel, qat) for per_channel in (False, True) for qat in (False, True)]
        return [
            OperatorConfig(get_symmetric_quantization_config(is_per_channel=choice, is_qat=qat), list(_SUPPORTED))
            for choice, qat in choices
        ]


def _as_tensors(model: GraphModule, node: Node, places: list[int]) -> None:
    args = list(node.args)
    for place in places:
        value = torch.tensor(float(args[place]))  # type: ignore[arg-type]
        name = f"_number_{sum(1 for key, _ in model.named_buffers() if key.startswith('_number_'))}"
        model.register_buffer(name, value)
        with model.graph.inserting_before(node):
            constant = model.graph.get_attr(name)
        constant.meta["val"] = node.meta["val"].fake_mode.from_tensor(value, static_shapes=True)
        args[place] = constant
    node.args = tuple(args)


__all__ = ["NothingQuantizedError", "XNNPACKQuantizer", "ZeroFactorsError", "get_symmetric_quantization_config"]
