# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Cost of a parametric plan's checks: a chain of additions of dynamic size, planned with and without it.

``python test/benchmark/runtime/parametric_plan.py [--length N]`` prints processor time in ns an execution, the minimum
of interleaved rounds, and the ratio: for inputs of one size, and for two sizes in turn, which move the tensors each
time.
"""

import argparse
import time

import torch
from chain import Chain
from tabulate import tabulate
from torch.export import Dim, export

from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.passes import MemoryPlanningPass
from executorch.runtime import Runtime

ROUNDS, EXECUTIONS = 400, 20


def program(length: int, parametric: bool) -> bytes:
    """The chain with rows of 4 elements, at most 64."""
    exported = export(Chain(length), (torch.ones(8, 4),), dynamic_shapes=({0: Dim("rows", min=1, max=64)},))
    planner = MemoryPlanningPass(alloc_graph_input=False, parametric=parametric)
    return to_edge(exported).to_executorch(ExecutorchBackendConfig(memory_planning_pass=planner)).buffer


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--length", type=int, default=64)
    length = parser.parse_args().length
    programs = [Runtime.get().load_program(program(length, parametric)) for parametric in (False, True)]
    methods = [program.load_method("forward") for program in programs]
    rows = []
    for sizes in ((8,), (64,), (8, 9)):
        inputs = [torch.ones(size, 4) for size in sizes]
        best = [float("inf")] * len(methods)
        for _ in range(ROUNDS):
            for i, method in enumerate(methods):
                begin = time.process_time_ns()
                for _ in range(EXECUTIONS):
                    for x in inputs:
                        method.execute([x])
                best[i] = min(best[i], (time.process_time_ns() - begin) / EXECUTIONS / len(inputs))
        rows.append((" and ".join(map(str, sizes)), *best, best[1] / best[0]))
    print(tabulate(rows, ("rows", "bounds", "parametric", "ratio"), floatfmt=("", ".0f", ".0f", ".3f")))


if __name__ == "__main__":
    main()
