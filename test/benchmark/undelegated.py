# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Processor time of models with optimized kernels and with the XNNPACK delegate, measured in one run.

``python test/benchmark/undelegated.py [MODEL ...]`` prints the time undelegated, the time delegated, and their ratio.
With several threads it measures elapsed time, because processor time is the sum over the threads. Undelegated programs
are lowered with ``tune_for_optimized_kernels``, unless ``--portable`` is given. ``--operators`` prints the time of each
operator. ``--precision half bfloat16`` instead measures the undelegated model in float32 and in these dtypes.
"""

import argparse
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Libraries import a package called `kernels`; leave out this folder, whose `kernels.py` they would find first.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import torch
from models import make
from tabulate import tabulate
from tqdm import tqdm

CONVOLUTIONAL = ["resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3"]
PRECISIONS = {"half": torch.float16, "bfloat16": torch.bfloat16}
TRANSFORMERS = ["vit_tiny", "minilm", "decoder_512", "decoder_512_token"]


def programs(name: str, is_tuned: bool) -> tuple[bytes, bytes, list[Any]]:
    """Return the undelegated program, the delegated one, and inputs. is_tuned: `tune_for_optimized_kernels`."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower

    model, inputs = make(name)
    exported = torch.export.export(model, inputs)
    config = ExecutorchBackendConfig(tune_for_optimized_kernels=is_tuned)
    plain = to_edge_transform_and_lower(exported).to_executorch(config).buffer
    delegated = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch().buffer
    return plain, delegated, list(inputs)


def in_precision(name: str, dtype: torch.dtype) -> tuple[bytes, list[Any]]:
    """Return the undelegated program with parameters and inputs of a dtype, and the inputs."""
    from executorch.exir import to_edge_transform_and_lower

    model, inputs = make(name)
    converted = tuple(value.to(dtype) if value.is_floating_point() else value for value in inputs)
    exported = torch.export.export(model.to(dtype), converted)
    return to_edge_transform_and_lower(exported).to_executorch().buffer, list(converted)


def best(method: Any, inputs: list[Any], clock: Callable[[], float], seconds: float) -> float:
    """Return the shortest execution within the given seconds."""
    shortest, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        began = clock()
        method.execute(inputs)
        shortest = min(shortest, clock() - began)
    return shortest


def operators(plain: bytes, inputs: list[Any]) -> dict[str, float]:
    """Return the milliseconds of each operator of the undelegated program: the minimum over ten executions."""
    from executorch.devtools import Inspector
    from executorch.extension.pybindings import portable_lib

    module = portable_lib._load_for_executorch_from_buffer(plain, enable_etdump=True)
    for _ in range(10):
        module.forward(inputs)
    totals: dict[str, float] = defaultdict(float)
    with tempfile.NamedTemporaryFile(suffix=".etdp") as file:
        module.write_etdump_result_to_file(file.name)
        for block in Inspector(etdump_path=file.name).event_blocks:
            for event in block.events:
                if event.perf_data is not None:
                    totals[event.name] += min(event.perf_data.raw)
    return dict(sorted(totals.items(), key=lambda pair: -pair[1]))


def variants(name: str, precisions: list[str], is_tuned: bool) -> list[tuple[bytes, list[Any]]]:
    """Return the programs to compare, each with its inputs: float32 and `precisions`, or undelegated and delegated."""
    if precisions:
        return [in_precision(name, dtype) for dtype in (torch.float32, *(PRECISIONS[name] for name in precisions))]
    plain, delegated, inputs = programs(name, is_tuned)
    return [(plain, inputs), (delegated, inputs)]


def main() -> None:
    """Print one line for each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=CONVOLUTIONAL + TRANSFORMERS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each turn")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--portable", action="store_true", help="without tune_for_optimized_kernels")
    parser.add_argument("--operators", action="store_true")
    parser.add_argument("--precision", nargs="+", choices=sorted(PRECISIONS), default=[])
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    from executorch.extension.pybindings import portable_lib
    from executorch.runtime import Runtime

    torch.set_num_threads(1)
    portable_lib._unsafe_reset_threadpool(options.threads)
    clock = time.thread_time if options.threads == 1 else time.perf_counter
    rows = []
    for name in tqdm(options.models, unit="model"):
        compared = variants(name, options.precision, not options.portable)
        loaded = [Runtime.get().load_program(program) for program, _ in compared]
        calls = [(program.load_method("forward"), given) for program, (_, given) in zip(loaded, compared, strict=True)]
        turns = [[best(*call, clock, options.seconds) for call in calls] for _ in range(options.turns)]
        times = [min(turn) * 1e3 for turn in zip(*turns, strict=True)]
        quotients = [other / times[0] for other in times[1:]] if options.precision else [times[0] / times[1]]
        rows.append([name, *times, *quotients])
        if options.operators:
            for program, given in compared if options.precision else compared[:1]:
                for operator, milliseconds in operators(program, given).items():
                    print(f"{milliseconds:9.3f} ms  {operator}")
    names = ["float32", *options.precision] if options.precision else ["undelegated", "delegated"]
    ratios = [f"{precision} / float32" for precision in options.precision] or ["ratio"]
    headers = ["model", *(f"{name}, ms" for name in names), *ratios]
    print(tabulate(rows, headers, floatfmt=("", *[".3f"] * len(names), *[".2f"] * len(ratios))))


if __name__ == "__main__":
    main()
