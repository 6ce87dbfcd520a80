# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Overhead of an instruction beyond its kernel: a chain of one-element additions, compared with the kernel in a loop.

``cmake --build BUILD --target dispatch_benchmark``, then
``python test/benchmark/runtime/dispatch.py BUILD/test/dispatch_benchmark``
prints nanoseconds: the least of 3000 executions, of as many loops, and the difference.
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

import torch
from chain import Chain
from torch.export import export

from executorch.exir import to_edge


def main() -> None:
    """Write the program, run the benchmark on it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path)
    parser.add_argument("--length", type=int, default=64)
    options = parser.parse_args()
    program = to_edge(export(Chain(options.length), (torch.ones(1),))).to_executorch()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chain.pte"
        path.write_bytes(program.buffer)
        subprocess.run([options.binary, path], check=True)


if __name__ == "__main__":
    main()
