# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The compiler's time from torch.export's program to the bytes of a `.pte`, here and under the peer, model by model.

``python test/benchmark/lowering.py [MODEL ...] [--rounds N]``; ``EXECUTORCH_PEER_PYTHON`` names the peer's interpreter.
Each run is a fresh process; seconds are its CPU time, so that a busy machine changes them little.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

from compare import medians
from fresh_process import figures_of
from tabulate import tabulate

MODELS = (
    "resnet18",
    "resnet50",
    "mobilenet_v3",
    "efficientnet_b0",
    "vit_tiny",
    "minilm",
    "bert",
    "unet",
    "detector",
    "whisper_encoder",
    "decoder",
    "gru",
    "lstm",
)


def seconds_of(name: str) -> dict[str, float]:
    """CPU seconds of to_edge and of to_executorch with its bytes, after torch.export."""
    here = Path(__file__).resolve().parent
    # Libraries import a package called `kernels`; leave out this folder, whose `kernels.py` they would find first.
    sys.path[:] = [str(here.parent), *(place for place in sys.path if Path(place).resolve() != here)]
    import torch
    from models import make

    from executorch.exir import to_edge

    torch.set_num_threads(1)
    exported = torch.export.export(*make(name))
    start = time.process_time()
    edge = to_edge(exported)
    middle = time.process_time()
    size = len(edge.to_executorch().buffer)
    end = time.process_time()
    return {"to_edge": middle - start, "to_executorch": end - middle, "sum": end - start, "MB": size / 1e6}


def measure(python: str, name: str) -> dict[str, float]:
    """One run in a fresh process of ``python``."""
    return figures_of(python, name, __file__, "--only", name)


def main() -> None:
    """Print a row a model: our seconds, the peer's, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(seconds_of(options.only)))
        return
    peer = os.environ["EXECUTORCH_PEER_PYTHON"]
    rows = []
    for name in options.models:
        pairs = [(measure(sys.executable, name), measure(peer, name)) for _ in range(options.rounds)]
        ours, theirs = medians([pair[0] for pair in pairs]), medians([pair[1] for pair in pairs])
        ratios = [ours[step] / theirs[step] for step in ("to_edge", "to_executorch", "sum")]
        rows.append((name, ours["to_edge"], ours["to_executorch"], theirs["to_edge"], theirs["to_executorch"], *ratios))
        print(tabulate(rows[-1:], tablefmt="plain", floatfmt=".3f"), file=sys.stderr, flush=True)
    columns = ("model", "to_edge", "to_executorch", "peer's", "peer's", "ratio", "ratio", "ratio of the sums")
    print(tabulate(rows, headers=columns, floatfmt=".3f"))


if __name__ == "__main__":
    main()
