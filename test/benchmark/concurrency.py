# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Two independent branches of equal work on one thread and on two, measured by turns.

``python test/benchmark/concurrency.py [--rounds N]`` prints the best times of both and of sequential ``execute``, the
speed-up of two threads over one, and the median of the rounds' speed-ups.
"""

import argparse
import statistics
import time

import torch
from tabulate import tabulate
from torch import nn
from torch.export import export

from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.passes import MemoryPlanningPass
from executorch.runtime import Runtime


class TwoBranches(nn.Module):
    """Two branches of 8 matrix products in sequence. Their operands differ, so that no product is shared."""

    def forward(self, x, y):  # type: ignore[no-untyped-def]
        left, right = x, y
        for _ in range(8):
            left = left.mm(x)
        for _ in range(8):
            right = right.mm(y)
        return left, right


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=150)
    rounds = parser.parse_args().rounds
    inputs = [torch.randn(256, 256) / 16 for _ in range(2)]
    planner = MemoryPlanningPass(concurrent=True)
    config = ExecutorchBackendConfig(memory_planning_pass=planner)
    program = to_edge(export(TwoBranches(), tuple(inputs), strict=True)).to_executorch(config)
    method = Runtime.get().load_program(program.buffer, threads=1).load_method("forward")
    ways = {
        "execute": lambda: method.execute(inputs, clone_outputs=False),
        "execute_async, 1 thread": lambda: method.execute_async(inputs, threads=1, clone_outputs=False).result(),
        "execute_async, 2 threads": lambda: method.execute_async(inputs, threads=2, clone_outputs=False).result(),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, run in ways.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    one = times["execute_async, 1 thread"]
    rows = [
        (
            name,
            min(found) * 1e3,
            min(one) / min(found),
            statistics.median(a / b for a, b in zip(one, found, strict=True)),
        )
        for name, found in times.items()
    ]
    print(tabulate(rows, headers=("way", "best (ms)", "1 thread / this", "median"), floatfmt=".3f"))


if __name__ == "__main__":
    main()
