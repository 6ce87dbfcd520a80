# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Planned memory of real architectures: arena, lower bound, and the peer's arena of the same model.

``python test/benchmark/arenas.py [MODEL ...]``; ``EXECUTORCH_PEER_PYTHON`` names the peer's interpreter (without it,
our figures stand alone). ``--measure MODEL`` prints one model's figures under this interpreter as JSON.
"""

import argparse
import json
import os
import random
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from fresh_process import figures_of

# Libraries import a package called `kernels`; leave out this folder, whose `kernels.py` they would find first.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from models import LARGE_NAMES, NAMES, make
from tabulate import tabulate
from tqdm import tqdm

TENSORS = 3000


def measure(name: str) -> dict[str, Any]:
    """The arenas' bytes of ``to_edge(...).to_executorch()``; ours also with the plan's proof. Runs under both."""
    import torch

    from executorch.exir import to_edge

    model, inputs = make(name)
    program = to_edge(torch.export.export(model, inputs)).to_executorch()
    figures: dict[str, Any] = {"arena": sum(program.executorch_program.execution_plan[0].non_const_buffer_sizes)}
    plans = getattr(program, "memory_plans", None)
    if plans is not None:
        plan = plans["forward"]
        figures |= {"bound": plan.lower_bound, "tensors": len(plan.tensors), "optimal": plan.is_optimal}
    return figures


def measured(python: str, name: str) -> dict[str, Any]:
    """``measure`` in a fresh process of ``python``."""
    return figures_of(python, name, __file__, "--measure", name)


def planning_seconds(count: int) -> tuple[float, float]:
    """Seconds of the default planner for ``count`` random tensors, and the gap it leaves."""
    from executorch.exir.memory.problem import Buffer, Problem
    from executorch.exir.memory.solve.search import search

    chance = random.Random(3)
    starts = (random.Random(5).randrange(count) for _ in range(count))
    buffers = [Buffer.of(16 * chance.randrange(1, 4096), at, at + chance.choice([1, 1, 2, 3, 20])) for at in starts]
    begin = time.perf_counter()
    solution = search(Problem(buffers))
    return time.perf_counter() - begin, solution.height / solution.lower_bound - 1


def main() -> None:
    """Print the table, model by model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=[*NAMES, *LARGE_NAMES], help=", ".join([*NAMES, *LARGE_NAMES]))
    parser.add_argument("--measure", metavar="MODEL")
    options = parser.parse_args()
    if options.measure:
        warnings.simplefilter("ignore")
        print(json.dumps(measure(options.measure)))
        return
    peer = os.environ.get("EXECUTORCH_PEER_PYTHON")
    rows = []
    for name in tqdm(options.models, unit="model"):
        ours = measured(sys.executable, name)
        theirs = measured(peer, name)["arena"] if peer else None
        over = ours["arena"] / ours["bound"] - 1
        ratio = ours["arena"] / theirs if theirs else None
        rows.append(
            (name, ours["tensors"], ours["arena"], ours["bound"], f"{over:.2%}", ours["optimal"], theirs, ratio)
        )
        tqdm.write(tabulate(rows[-1:], tablefmt="plain", floatfmt=".3f"), file=sys.stderr)
    headers = ("model", "tensors", "arena", "lower bound", "over", "optimal", "peer", "ours / peer")
    print(tabulate(rows, headers=headers, floatfmt=".3f"))
    seconds, gap = planning_seconds(TENSORS)
    print(f"{TENSORS} tensors of chance: {seconds:.2f} s, {gap:.2%} over the lower bound")


if __name__ == "__main__":
    main()
