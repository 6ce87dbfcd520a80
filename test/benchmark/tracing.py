# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Measure the cost of recording events: the same programs run with and without a tracer, alternately.

``python test/benchmark/tracing.py [--runs N]``. Programs take about a millisecond, or have tiny operators. The figure
is the minimum time of their runs, which excludes other load on the machine.
"""

import argparse
import sys
import time
from typing import Any

# Libraries import a package called `kernels`; leave out this folder, whose `kernels.py` they would find first.
sys.path.pop(0)
import torch
from tabulate import tabulate

from executorch.exir import to_edge, to_edge_transform_and_lower
from executorch.runtime import Runtime


def chain(layers: int, width: int) -> torch.nn.Module:
    """`layers` linear layers with relu: two operators each."""
    parts = [part for _ in range(layers) for part in (torch.nn.Linear(width, width), torch.nn.ReLU())]
    return torch.nn.Sequential(*parts).eval()


def programs() -> dict[str, tuple[bytes, torch.Tensor]]:
    """Name → program and input: few and many operators of kernels, and one delegate if XNNPACK is there."""
    found = {}
    for layers, width, rows in ((8, 384, 40), (40, 256, 20), (40, 128, 8)):
        x = torch.randn(rows, width)
        exported = torch.export.export(chain(layers, width), (x,))
        found[f"kernels, {2 * layers} operators on {rows} x {width}"] = (to_edge(exported).to_executorch().buffer, x)
    if "XnnpackBackend" in Runtime.get().backend_registry.registered_backend_names:
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

        x = torch.randn(16, 256)
        exported = torch.export.export(chain(30, 256), (x,))
        lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch()
        found["XNNPACK, 60 operators in a delegate"] = (lowered.buffer, x)
    return found


def least_seconds(methods: list[Any], x: torch.Tensor, runs: int) -> list[float]:
    """The least time of each method's runs, which take turns."""
    fastest = [float("inf")] * len(methods)
    for _ in range(runs):
        for index, method in enumerate(methods):
            begin = time.perf_counter()
            method.execute([x])
            fastest[index] = min(fastest[index], time.perf_counter() - begin)
    return fastest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    runs = parser.parse_args().runs
    rows = []
    for name, (data, x) in programs().items():
        methods = [
            Runtime.get().load_program(data, enable_etdump=traced).load_method("forward", threads=1)
            for traced in (False, True)
        ]
        off, on = least_seconds(methods, x, runs)
        rows.append((name, off * 1e6, on * 1e6, f"{100 * (on / off - 1):+.2f} %"))
    print(tabulate(rows, headers=("program", "off, us", "on, us", "cost"), floatfmt=".1f"))


if __name__ == "__main__":
    main()
