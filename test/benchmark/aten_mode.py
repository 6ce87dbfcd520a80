# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A chain of large operators in ATen mode (aten_lib) against eager PyTorch, on the same kernels, measured by turns.

``python test/benchmark/aten_mode.py [--rounds N] [--threads N]`` prints the best time of each and the ratio.
"""

import argparse
import time

import torch
from tabulate import tabulate
from torch import nn
from torch.export import export

from executorch.exir import to_edge
from executorch.extension.pybindings import aten_lib


class Chain(nn.Module):
    """20 repetitions of matrix product, sum and ReLU."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        for _ in range(20):
            x = torch.relu(x @ y + x)
        return x


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rows = []
    for size in (128, 256, 512):
        inputs = (torch.rand(size, size), torch.randn(size, size) / size)
        model = Chain().eval()
        program = to_edge(export(model, inputs)).to_executorch()
        module = aten_lib._load_for_executorch_from_buffer(program.buffer)
        ways = {
            "eager": lambda model=model, inputs=inputs: model(*inputs),
            "ATen mode": lambda module=module, inputs=inputs: module.forward(inputs, clone_outputs=False),
        }
        best = dict.fromkeys(ways, float("inf"))
        with torch.inference_mode():
            torch.testing.assert_close(ways["ATen mode"]()[0], ways["eager"]())
            for _ in range(options.rounds):
                for name, run in ways.items():
                    start = time.perf_counter()
                    run()
                    best[name] = min(best[name], time.perf_counter() - start)
        eager, aten = best.values()
        rows.append((f"20 x (mm {size}, add, relu)", eager * 1e3, aten * 1e3, aten / eager))
    print(tabulate(rows, headers=("chain", "eager (ms)", "ATen mode (ms)", "ratio"), floatfmt=".3f"))


if __name__ == "__main__":
    main()
