# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Measures workloads here and under the peer in turn, and prints each figure with its ratio.

``python test/benchmark/compare.py [WORKLOAD ...] [--rounds N]``; ``EXECUTORCH_PEER_PYTHON`` names the peer's
interpreter (without it, our figures stand alone).
"""

import argparse
import os
import statistics
import sys
from pathlib import Path

from fresh_process import figures_of
from tabulate import tabulate
from tqdm import tqdm
from workload import WORKLOADS, Figures

WORKLOAD = Path(__file__).with_name("workload.py")


def measure(python: str, workload: str) -> Figures:
    """One run of ``workload`` in a fresh process of ``python``."""
    return figures_of(python, workload, str(WORKLOAD), workload)


def medians(runs: list[Figures]) -> Figures:
    """Figure by figure, the median over the runs."""
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def main() -> None:
    """Run the workloads round by round, ours and the peer's in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS), help=", ".join(WORKLOADS))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    peer = os.environ.get("EXECUTORCH_PEER_PYTHON")
    rows = []
    for workload in tqdm(options.workloads, unit="workload"):
        ours, theirs = [], []
        for _ in range(options.rounds):
            ours.append(measure(sys.executable, workload))
            if peer:
                theirs.append(measure(peer, workload))
        other = medians(theirs) if theirs else {}
        for name, value in medians(ours).items():
            ratio = value / other[name] if name in other else None
            rows.append((name, value, other.get(name), ratio))
    print(tabulate(rows, headers=("figure (seconds, or a ratio)", "ours", "peer", "ours / peer"), floatfmt=".4g"))


if __name__ == "__main__":
    main()
