# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Compare attention as one operator of a delegate with the same nodes unfused and with PyTorch's operator.

``python test/benchmark/attention.py [--threads N]`` prints milliseconds (minimum of interleaved rounds) and ratios. The
unfused program also returns the attention weights, which prevents the fusion. Times are processor time with one thread,
else wall time.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

# Libraries import a package called `kernels`; leave out this folder, whose `kernels.py` they would find first.
sys.path.pop(0)
import torch
from tabulate import tabulate
from torch import nn
from torch.nn import functional as F
from tqdm import tqdm

# Heads, queries and keys, channels: ViT-tiny, MiniLM, and longer sequences.
SIZES = [(3, 197, 64), (12, 128, 32), (12, 16, 64), (8, 512, 64), (8, 1024, 64), (8, 4096, 64)]


class Attention(nn.Module):
    """Scaled dot-product attention; with ``returns_weights``, its weights too."""

    def __init__(self, returns_weights: bool) -> None:
        super().__init__()
        self.returns_weights = returns_weights

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Any:
        weights = torch.softmax(torch.matmul(q, k.transpose(-2, -1)) * q.shape[-1] ** -0.5, -1)
        result = torch.matmul(weights, v)
        return (result, weights) if self.returns_weights else result


def delegate(inputs: tuple[torch.Tensor, ...], returns_weights: bool) -> Callable[[], Any]:
    """Return a function that runs a program of this attention."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower
    from executorch.runtime import Runtime

    exported = torch.export.export(Attention(returns_weights), inputs)
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    return lambda: method.execute(list(inputs))


def main() -> None:
    """Print one line for each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=4, help="of each size")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    from executorch.extension.pybindings import portable_lib

    torch.set_num_threads(options.threads)
    portable_lib._unsafe_reset_threadpool(options.threads)
    clock = time.thread_time if options.threads == 1 else time.perf_counter
    rows = []
    for heads, positions, channels in tqdm(SIZES, unit="size"):
        q, k, v = (torch.randn(1, heads, positions, channels) for _ in range(3))
        calls = [
            delegate((q, k, v), False),
            delegate((q, k, v), True),
            lambda q=q, k=k, v=v: F.scaled_dot_product_attention(q, k, v),
        ]
        fastest, end = [float("inf")] * len(calls), time.perf_counter() + options.seconds
        while time.perf_counter() < end:
            for i, call in enumerate(calls):
                began = clock()
                call()
                fastest[i] = min(fastest[i], clock() - began)
        fused, plain, eager = (seconds * 1e3 for seconds in fastest)
        rows.append([f"{heads} x {positions} x {channels}", fused, plain, eager, fused / plain, fused / eager])
    headers = ["heads, positions, channels", "fused", "unfused", "PyTorch", "fused / unfused", "fused / PyTorch"]
    print(tabulate(rows, headers, floatfmt=("", ".3f", ".3f", ".3f", ".2f", ".2f")))


if __name__ == "__main__":
    main()
