# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Compare two lists of outputs by metrics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch


def mean_squared_error(reference: torch.Tensor, found: torch.Tensor) -> float:
    """Mean of the squared differences between two tensors of equal shape."""
    return float((reference - found).square().mean())


def absolute_error(reference: torch.Tensor, found: torch.Tensor) -> float:
    """Sum of the absolute differences between two tensors of equal shape."""
    return float((reference - found).abs().sum())


def signal_to_noise(reference: torch.Tensor, found: torch.Tensor) -> float:
    """Signal-to-noise ratio in dB: 10 log10(power of the reference / power of the difference); infinite without a
    difference.
    """
    return float(10 * torch.log10(reference.square().mean() / (reference - found).square().mean()))


def cosine_similarity(reference: torch.Tensor, found: torch.Tensor) -> float:
    """Cosine of the angle between two tensors of equal shape, as flat vectors; NaN if one is zero."""
    return float((reference * found).sum() / (reference.square().sum().sqrt() * found.square().sum().sqrt()))


_METRICS: dict[str, Callable[[torch.Tensor, torch.Tensor], float]] = {
    "snr": signal_to_noise,
    "mse": mean_squared_error,
    "cosine_similarity": cosine_similarity,
}


def as_float(value: Any) -> torch.Tensor:
    """Convert a tensor or number to a float64 tensor with NaN as 0. Raises ValueError for any other type."""
    if isinstance(value, (bool, int, float)):
        value = torch.tensor(value)
    if not isinstance(value, torch.Tensor):
        raise ValueError(f"expected a tensor or a number; found {type(value).__name__}")
    return torch.nan_to_num(value.detach().cpu().to(torch.float64))


def compare_results(
    reference_output: Sequence[Any], run_output: Sequence[Any], metrics: Sequence[str] | None = None, plot: bool = False
) -> dict[str, list[float | None]]:
    """Print and return metric → value for each pair of outputs, None for outputs that are not tensors.

    metrics: from 'snr' (dB), 'mse', 'cosine_similarity'; default all. plot: draw with matplotlib instead of printing.
    """
    results: dict[str, list[float | None]] = {}
    for name, metric in _METRICS.items():
        if metrics is None or name in metrics:
            pairs = zip(reference_output, run_output, strict=True)
            results[name] = [_measured(metric, reference, found) for reference, found in pairs]
            _plot(name, results[name]) if plot else _print(name, results[name])
    return results


def _measured(metric: Callable[[torch.Tensor, torch.Tensor], float], reference: Any, found: Any) -> float | None:
    if not isinstance(reference, torch.Tensor) or not isinstance(found, torch.Tensor):
        return None
    return metric(as_float(reference), as_float(found))


def _print(name: str, values: Sequence[float | None]) -> None:
    print(f"{name}\n{'-' * 20}")
    for index, value in enumerate(values):
        print(f"{index:<5}{'-' if value is None else format(value, '.5f'):>8}")


def _plot(name: str, values: Sequence[float | None]) -> None:
    import matplotlib.pyplot as plt

    plt.figure(figsize=(8, 6))
    plt.plot(range(len(values)), [float("nan") if value is None else value for value in values], marker="o")
    plt.title(name)
    plt.xlabel("output")
    plt.show()
