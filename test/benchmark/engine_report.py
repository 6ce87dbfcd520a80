# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Report on the engines' times: a table and a plot of ratios."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import NamedTuple

from tabulate import tabulate


class Measurement(NamedTuple):
    """Seconds of a call of one model on one engine, a figure a round, and what preparing it showed.

    products: the precision of the factors in the engine's products.
    """

    model: str
    threads: int
    engine: str
    products: str
    times: tuple[float, ...]
    facts: dict[str, float]

    @property
    def median(self) -> float:
        """Seconds."""
        return statistics.median(self.times)


def ours_over(measurements: list[Measurement], measured: Measurement) -> float | None:
    """Our time over this engine's, as the median of the rounds' ratios: both saw the same machine in a round.

    An engine on int8 is compared with ours on int8.
    """
    return _over(measurements, "ours-int8" if measured.engine.endswith("-int8") else "ours", measured)


def share_of_peak(measurements: list[Measurement], measured: Measurement) -> float | None:
    """The time of bare multiply-add instructions in the precision of the engine's products, over its time."""
    return _over(measurements, f"peak-{measured.products}", measured)


def _over(measurements: list[Measurement], engine: str, measured: Measurement) -> float | None:
    same = [m for m in measurements if (m.model, m.threads, m.engine) == (measured.model, measured.threads, engine)]
    if not same:
        return None
    return statistics.median(its / other for its, other in zip(same[0].times, measured.times, strict=True))


def table(measurements: list[Measurement]) -> str:
    """Format one row for each measurement: medians in ms, our time over the engine's, the share of the peak, facts
    about the engine's program.
    """
    rows = []
    for measurement in measurements:
        quotients = (ours_over(measurements, measurement), share_of_peak(measurements, measurement))
        facts = ("difference", "lowering", "load", "delegates", "other operators")
        names = (measurement.model, measurement.threads, measurement.engine)
        known = (measurement.facts.get(name) for name in facts)
        rows.append((*names, measurement.median * 1e3, *quotients, *known))
    headers = (
        *("model", "threads", "engine", "ms", "ours / it", "of peak", "max difference"),
        *("lowering, s", "load, s", "delegates", "other operators"),
    )
    formats = ("", "", "", ".3f", ".2f", ".2f", ".1e", ".2f", ".4f", ".0f", ".0f")
    return tabulate(rows, headers=headers, floatfmt=formats)


def plot(measurements: list[Measurement], path: Path) -> None:
    """Bars of each engine's time over ours, a group a model; above 1 we are faster."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    groups = list(dict.fromkeys((measurement.model, measurement.threads) for measurement in measurements))
    names = dict.fromkeys(measurement.engine for measurement in measurements)
    engines = [name for name in names if name != "ours" and not name.startswith("peak-")]
    figure, axes = pyplot.subplots(figsize=(2 + 1.1 * len(groups), 4.5), layout="constrained")
    width = 0.8 / max(len(engines), 1)
    for index, engine in enumerate(engines):
        bars = {
            (m.model, m.threads): 1 / (ours_over(measurements, m) or float("nan"))
            for m in measurements
            if m.engine == engine
        }
        places = [groups.index(group) + (index - (len(engines) - 1) / 2) * width for group in bars]
        axes.bar(places, list(bars.values()), width, label=engine)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_yscale("log")
    axes.set_xticks(range(len(groups)), [f"{model}\n{threads} thread(s)" for model, threads in groups], rotation=30)
    axes.set_ylabel("its time / ours (above 1: ours is faster)")
    axes.legend(fontsize="small", ncols=2)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
