# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Noise that each call of a quantized graph adds by itself, measured with the float model's values as operands."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Interpreter, Node

from executorch.exir.error import module_name

CallKey = tuple[str, str, int]
"""(module path, operator, number of earlier calls of the operator in the module): a key that survives quantization."""

_FOLLOWERS = ("batch_norm", "_native_batch_norm_legit_no_training")


def operator_name(node: Node) -> str:
    """Name such as `aten.conv2d`, for in-place variants too; empty for nodes that are not operator calls."""
    if node.op != "call_function":
        return ""
    return str(node.target).rpartition(".")[0].rstrip("_") if "." in str(node.target) else ""


def calls_by_key(graph_module: GraphModule) -> dict[CallKey, Node]:
    """Key → operator call of a graph, without quantize and dequantize calls."""
    seen: Counter[tuple[str, str]] = Counter()
    calls = {}
    for node in graph_module.graph.nodes:
        name = operator_name(node)
        if name.startswith("aten."):
            calls[(module_name(node), name, seen[module_name(node), name])] = node
            seen[module_name(node), name] += 1
    return calls


class _Recorder(Interpreter):
    def __init__(self, module: GraphModule, wanted: set[Node]) -> None:
        super().__init__(module)
        self.wanted, self.values = wanted, dict[Node, torch.Tensor]()

    def run_node(self, n: Node) -> Any:
        value = super().run_node(n)
        if n in self.wanted and isinstance(value, torch.Tensor):
            self.values[n] = value.clone()  # later calls may write in place
        return value


class _Corrected(Interpreter):
    """Replaces every compared value by the float value."""

    def __init__(self, module: GraphModule, exact: dict[Node, torch.Tensor]) -> None:
        super().__init__(module)
        self.exact, self.values = exact, dict[Node, torch.Tensor]()

    def run_node(self, n: Node) -> Any:
        value = super().run_node(n)
        if n not in self.exact:
            return value
        self.values[n] = value.clone()
        return self.exact[n].clone()


def decibels(signal: float, noise: float) -> float:
    """Signal-to-noise ratio in dB; infinite without noise."""
    return 10 * math.log10(signal / noise) if noise > 0 and signal > 0 else math.inf


def _power(value: torch.Tensor) -> float:
    return float(value.detach().double().pow(2).sum())


def _fused_into(call: Node) -> Node:
    """Return the batch norm after `call`, which quantization folds into it; `call` itself if there is none."""
    users = list(call.users)
    if len(users) == 1 and operator_name(users[0]).removeprefix("aten.") in _FOLLOWERS:
        return users[0]
    return call


def inputs_of_calls(data: Iterable[Sequence[torch.Tensor]]) -> list[tuple[torch.Tensor, ...]]:
    """Convert data to the arguments of each call. Raises TypeError for a bare tensor."""
    calls = []
    for index, inputs in enumerate(data):
        if isinstance(inputs, torch.Tensor):
            raise TypeError(
                f"data[{index}]: expected the inputs of one call as a tuple (x,), "
                f"found a tensor of shape {list(inputs.shape)}"
            )
        calls.append(tuple(inputs))
    return calls


def noise_of_calls(
    float_graph: GraphModule, quantized: GraphModule, data: Iterable[Sequence[torch.Tensor]]
) -> tuple[dict[CallKey, float], float]:
    """SQNR in dB of every call present in both graphs, by itself, and of the first result with all noise.

    Quantizing a result counts as noise of its readers. Raises ValueError without data, TypeError for bare tensors.
    """
    exact_calls, calls = calls_by_key(float_graph), calls_by_key(quantized)
    norms = any(operator_name(node).removeprefix("aten.") in _FOLLOWERS for node in calls.values())
    pairs = {
        key: (exact_calls[key] if norms else _fused_into(exact_calls[key]), node)
        for key, node in calls.items()
        if key in exact_calls
    }
    power: Counter[CallKey] = Counter()
    noise: Counter[CallKey] = Counter()
    result_power = [0.0, 0.0]  # of the exact result, and of its noise
    for inputs in inputs_of_calls(data):
        with torch.no_grad():
            recorder = _Recorder(float_graph, {exact for exact, _ in pairs.values()})
            result = recorder.run(*inputs)
            exact = {node: recorder.values[before] for before, node in pairs.values() if before in recorder.values}
            corrected = _Corrected(quantized, exact)
            corrected.run(*inputs)
            first, second = (_first(results) for results in (result, quantized(*inputs)))
        result_power = [result_power[0] + _power(first), result_power[1] + _power(first - second)]
        for key, (before, node) in pairs.items():
            if node in corrected.values and corrected.values[node].shape == recorder.values[before].shape:
                power[key] += _power(recorder.values[before])  # type: ignore[assignment]
                noise[key] += _power(recorder.values[before] - corrected.values[node])  # type: ignore[assignment]
    if not power:
        raise ValueError("no data, or no call in common: pass the float model's graph and inputs as for calibration")
    return {key: decibels(power[key], noise[key]) for key in power}, decibels(*result_power)


def _first(result: Any) -> torch.Tensor:
    tensor: torch.Tensor = torch.utils._pytree.tree_leaves(result)[0]
    return tensor
