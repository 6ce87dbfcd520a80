# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Table of a quantized model's layers: scheme, bits, noise and, after lowering, where each runs and why."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import torch
from tabulate import tabulate
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from executorch.devtools.quantization.noise import CallKey, calls_by_key, noise_of_calls, operator_name
from executorch.exir.backend.partition.fallback import FALLBACK
from executorch.exir.backend.partition.float_fallback import FLOAT_FALLBACK
from executorch.exir.error import module_name
from executorch.exir.error import operator_name as edge_name
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.lowered_backend_module import get_lowered_submodules
from executorch.exir.passes.quantized.fuse_quantized_pass import fusion_refusals
from executorch.exir.program.target import installed_kernels

Scheme = Literal["static", "dynamic", "weights only", "float"]
_LAYERS = ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "linear", "embedding")
_WEIGHTED_IN_EDGE = ("aten::convolution", "aten::linear", "aten::addmm", "aten::mm", "aten::embedding")
_FUSED_IN_EDGE = (
    *(f"quantized_decomposed::{name}" for name in ("embedding", "linear", "conv", "mixed")),
    *(f"quantized_fused::{name}" for name in ("convolution", "linear")),
)
_QUANTIZED = "quantized_decomposed."
_TORCHAO = "torchao.dequantize_affine"
"""Dequantize operator of torchao's `quantize_`, whose scale is the third argument instead of the second."""


@dataclass(frozen=True)
class LayerReport:
    """One layer with weights.

    bits: of weights and operands (32: float). sqnr: of the
    layer's result in dB, with the float model's operands. runs: "" before lowering; else "delegated to …", "fused in …"
    (an integer kernel of the installed runtime), "dequantized" or "in float". why: reasons of the partitioner and of
    the missing integer kernel, or that the quantizer skipped the layer, or why a delegate computes it in float.
    """

    layer: str
    operator: str
    scheme: Scheme
    weight_bits: int
    operand_bits: int
    per_channel: bool
    sqnr: float
    runs: str
    why: str


@dataclass(frozen=True)
class InFloat:
    """An operator that a quantized delegate computes in float, and why."""

    layer: str
    operator: str
    runs: str
    why: str


@dataclass(frozen=True)
class QuantizationReport:
    """Accuracy and execution of a quantized model, layer by layer.

    layers: in graph order. sqnr: of the model's first result in dB, with all noise. in_float: float operators of
    quantized delegates, after lowering, in the order of the delegates.
    """

    layers: tuple[LayerReport, ...]
    sqnr: float
    in_float: tuple[InFloat, ...] = ()

    def to_json(self) -> str:
        """Return a JSON object; null for layers without noise."""
        layers = [{**asdict(layer), "sqnr": _finite(layer.sqnr)} for layer in self.layers]
        summary = {"layers": layers, "sqnr": _finite(self.sqnr), "in_float": [asdict(layer) for layer in self.in_float]}
        return json.dumps(summary, indent=2)

    def __str__(self) -> str:
        rows = [
            [
                layer.layer,
                layer.operator,
                layer.scheme,
                f"{layer.weight_bits}/{layer.operand_bits}",
                f"{layer.sqnr:.1f}",
                layer.runs,
                layer.why,
            ]
            for layer in self.layers
        ]
        titles = ["layer", "operator", "scheme", "bits w/a", "SQNR dB", "runs", "why"]
        lines = [tabulate(rows, titles), f"result: SQNR {self.sqnr:.1f} dB"]
        if self.in_float:
            inside = [(call.layer, call.operator, call.runs, call.why) for call in self.in_float]
            lines += ["", tabulate(inside, ["layer", "in float", "runs", "why"])]
        return "\n".join(lines)


def quantization_report(
    float_graph: GraphModule,
    quantized: GraphModule,
    data: Iterable[Sequence[torch.Tensor]],
    lowered: Any = None,
) -> QuantizationReport:
    """Report on each layer with weights.

    float_graph: `torch.export.export(model.eval(), inputs).module()`, before prepare. quantized: the result of
    `convert_pt2e`. data: inputs, as for calibration. lowered: the `EdgeProgramManager` lowered from it, to report where
    layers run.
    """
    noise, whole = noise_of_calls(float_graph, quantized, data)
    places = {} if lowered is None else _places(lowered.exported_program())
    calls: Counter[str] = Counter()
    layers = []
    for key, node in calls_by_key(quantized).items():
        if key[1].removeprefix("aten.") in _LAYERS:
            places_of_key = places.get(key[0], [])
            place = places_of_key[min(calls[key[0]], len(places_of_key) - 1)] if places_of_key else ("", "")
            calls[key[0]] += 1
            layers.append(_layer(key, node, noise.get(key, math.nan), place, lowered is not None))
    return QuantizationReport(tuple(layers), whole, () if lowered is None else _in_float(lowered.exported_program()))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _is(node: object, name: str) -> bool:
    return isinstance(node, Node) and operator_name(node).startswith(f"{_QUANTIZED}{name}")


def _is_torchao(node: object) -> bool:
    return isinstance(node, Node) and operator_name(node) == _TORCHAO


def _is_dequantized(node: object) -> bool:
    return _is(node, "dequantize") or _is_torchao(node)


def _is_dynamic(operand: Any) -> bool:
    """Return whether the scale of a dequantized operand is computed at run time."""
    place = 2 if _is_torchao(operand) else 1
    scale = operand.args[place] if len(operand.args) > place else None
    return isinstance(scale, Node) and scale.op == "call_function"


def _bits(node: Any) -> int:
    """Bits of an operand's integers; 32 for float."""
    if not _is_dequantized(node):
        return 32
    integers = [argument for argument in node.args if isinstance(argument, int) and not isinstance(argument, bool)]
    limits = integers[-3:-1] if "group" in str(node.target) else integers[-2:]
    return max(1, math.ceil(math.log2(limits[1] - limits[0] + 1)))


def _layer(key: CallKey, node: Node, sqnr: float, place: tuple[str, str], is_lowered: bool) -> LayerReport:
    is_table = key[1].endswith("embedding")
    weight, operand = (node.args[0], None) if is_table else (node.args[1], node.args[0])
    weight_bits, operand_bits = _bits(weight), _bits(operand)
    scheme: Scheme = "weights only"
    if weight_bits == 32:  # computed in float even if its operand was quantized
        scheme, operand_bits = "float", 32
    elif operand_bits < 32:
        scheme = "dynamic" if _is_dynamic(operand) else "static"
    runs, why = place
    if is_lowered and not runs:
        runs = "in float" if scheme == "float" else "dequantized"
    if scheme == "float" and not why:
        why = "the quantizer is not configured for it, or does not support it"
    per_channel = _is(weight, "dequantize_per_channel") or _is_torchao(weight)
    return LayerReport(key[0], key[1], scheme, weight_bits, operand_bits, per_channel, sqnr, runs, why)


def _places(program: ExportedProgram) -> dict[str, list[tuple[str, str]]]:
    """Return module path → (executor, reason against a delegate or integers) of each weighted operator."""
    target = installed_kernels()
    verdicts = fusion_refusals(program, lambda name: target.find(name) is not None)
    places: dict[str, list[tuple[str, str]]] = {}
    for graph_module in all_graph_modules(program.graph_module):
        delegates = {call: module for _, module, call in get_lowered_submodules(graph_module)}
        for node in graph_module.graph.nodes:
            if node in delegates:
                inside = delegates[node].original_module.graph.nodes
                for layer in filter(_is_weighted, inside):
                    backend = f"delegated to {delegates[node].backend_id}"
                    places.setdefault(module_name(layer), []).append((backend, layer.meta.get(FLOAT_FALLBACK, "")))
            elif _is_weighted(node):
                reasons = [f"{name}: {reason}" for name, reason in node.meta.get(FALLBACK, ())]
                place, why = _place(node, verdicts)
                reason = "" if place.startswith("fused") else "; ".join([*reasons, *filter(None, [why])])
                places.setdefault(module_name(node), []).append((place, reason))
    return places


def _in_float(program: ExportedProgram) -> tuple[InFloat, ...]:
    """Return the operators that quantized delegates compute in float."""
    layers = []
    for module in all_graph_modules(program.graph_module):
        for _, delegate, _ in get_lowered_submodules(module):
            runs = f"delegated to {delegate.backend_id}"
            for node in delegate.original_module.graph.nodes:
                if FLOAT_FALLBACK in node.meta:
                    layers.append(InFloat(module_name(node), edge_name(node.target), runs, node.meta[FLOAT_FALLBACK]))
    return tuple(layers)


def _place(node: Node, verdicts: Mapping[Node, str]) -> tuple[str, str]:
    """Return (executor, reason against integers or "") of an undelegated call."""
    name = edge_name(node.target)
    if name.startswith(_FUSED_IN_EDGE):
        return f"fused in {name}", ""
    if not any("quantize" in str(source.target) for source in node.all_input_nodes):
        return "in float", ""
    why = verdicts.get(node, "its result is not quantized")
    if why:
        return "dequantized", why
    return f"fused in quantized_fused::{'convolution' if 'convolution' in name else 'linear'}", ""


def _is_weighted(node: Node) -> bool:
    return node.op == "call_function" and edge_name(node.target).startswith((*_WEIGHTED_IN_EDGE, *_FUSED_IN_EDGE))
