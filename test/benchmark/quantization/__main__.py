# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Measure what quantization costs in accuracy and gains in size and speed, in one run.

``python -m test.benchmark.quantization [PART ...] [--rounds N] [--embedding-bits 8] [--json FILE]``, the parts being
digits, minilm, mobilenet_v2 and resnet50. Speeds are ratios on one thread, of the least times over rounds in which both
sides take turns. ``EXECUTORCH_PEER_PYTHON`` names the peer's interpreter; without it there are no figures beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tabulate import tabulate

from ..engine_process import Engine, EngineProcess
from .models import Digits, MiniLM, quantized

WORKER = Path(__file__).with_name("worker.py")
PEER = "EXECUTORCH_PEER_PYTHON"
SEEDS = 3
IMAGES = 8


class Figure(NamedTuple):
    """A figure with its requirement: at least, or at most, `bound`; without a bound, it is only reported."""

    name: str
    value: float
    relation: str = ""
    bound: float | None = None

    @property
    def holds(self) -> bool | None:
        """Return whether the figure meets its requirement."""
        if self.bound is None:
            return None
        return self.value >= self.bound if self.relation == ">=" else self.value <= self.bound


def _method(program: bytes) -> Callable[..., torch.Tensor]:
    from executorch.runtime import Runtime

    method = Runtime.get().load_program(program).load_method("forward", threads=1)
    return lambda *inputs: method.execute(list(inputs))[0]


def digits(options: argparse.Namespace) -> Iterator[Figure]:
    """Accuracy in percent and its loss against float32, each the mean over models of several seeds."""
    limits = {"PTQ": 0.5, "QAT": 0.2, "4-bit weights": 1.0}
    exact, lost = 0.0, dict.fromkeys(limits, 0.0)
    for seed in range(SEEDS):
        data = Digits(seed)
        before = data.accuracy(data.model)
        exact += before / SEEDS
        for name, program in data.variants():
            lost[name] += (before - data.accuracy(_method(program))) / SEEDS
    yield Figure("digits: float32, % right", exact)
    for name, value in lost.items():
        yield Figure(f"digits: {name}, points lost", value, "<=", limits[name])


def _least(calls: list[Callable[[], object]], rounds: int) -> list[float]:
    """The least seconds of each call, all taking turns."""
    fastest = [float("inf")] * len(calls)
    for _ in range(rounds):
        for index, call in enumerate(calls):
            start = time.perf_counter()
            call()
            fastest[index] = min(fastest[index], time.perf_counter() - start)
    return fastest


def minilm(options: argparse.Namespace) -> Iterator[Figure]:
    """Dynamic int8 beside float32, both ours."""
    bits = options.embedding_bits
    made = MiniLM(bits)
    yield Figure("minilm: float32, MB", len(made.float_program) / 1e6)
    yield Figure(f"minilm: int8, tables of {bits} bits, MB", len(made.program) / 1e6)
    sizes = [len(made.program), len(made.float_program)]
    if bits == 32:
        sizes = [size - 4 * made.table_numbers for size in sizes]
    yield Figure("minilm: file of the quantized part / float32", sizes[0] / sizes[1], "<=", 0.30)
    exact, ours = _method(made.float_program), _method(made.program)
    pairs = [(sentence, torch.ones_like(sentence)) for sentence in made.sentences]
    likeness = [float((exact(*pair) * ours(*pair)).sum()) for pair in pairs]
    yield Figure("minilm: least cosine similarity on the example's text", min(likeness), ">=", 0.99)
    totals = [0.0, 0.0]
    for pair in pairs[:: len(pairs) // 16]:
        found = _least([lambda p=pair: exact(*p), lambda p=pair: ours(*p)], options.rounds)  # type: ignore[misc]
        totals = [total + seconds for total, seconds in zip(totals, found, strict=True)]
    yield Figure("minilm: speed / float32, the example's text", totals[0] / totals[1], ">=", 1.5)
    whole = (torch.randint(1000, 20000, (1, 128)), torch.ones(1, 128, dtype=torch.int64))
    found = _least([lambda: exact(*whole), lambda: ours(*whole)], 2 * options.rounds)
    yield Figure("minilm: speed / float32, 128 tokens", found[0] / found[1], ">=", 1.5)


def _last_scale(exported: torch.export.ExportedProgram) -> float:
    """One quantum of the result."""
    (result,) = exported.graph.output_node().args[0]  # type: ignore[misc]
    scale: Any = result.args[1]  # type: ignore[union-attr]
    return float(scale)


def images(name: str) -> Callable[[argparse.Namespace], Iterator[Figure]]:
    """Static int8 of a network for images, lowered by us and by the peer from one quantized graph."""

    def measure(options: argparse.Namespace) -> Iterator[Figure]:
        from models import make

        model, inputs = make(name)
        data = [torch.randn_like(inputs[0]) for _ in range(IMAGES)]
        with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
            quantized_model = quantized(model, inputs, lambda prepared: [prepared(batch) for batch in data[:2]])
            exported = torch.export.export(quantized_model, inputs)
            torch.export.save(exported, Path(folder) / "exported.pt2")
            torch.save(data, Path(folder) / "inputs.pt")
            engines = [
                Engine("ours", "ours"),
                *([Engine("peer", "peer", PEER, own=True)] if os.environ.get(PEER) else []),
            ]
            running = [EngineProcess(engine, folder, 1, WORKER) for engine in engines]
            facts = running[0].facts
            yield Figure(f"{name}: delegates", facts["delegates"], "<=", 1)
            yield Figure(f"{name}: operators outside", facts["other operators"], "<=", 0)
            if len(running) > 1:
                results = [torch.cat(torch.load(Path(folder) / f"{engine.name}.pt")) for engine in engines]
                alike = (results[0] - results[1]).abs() <= 1.001 * _last_scale(exported)
                yield Figure(
                    f"{name}: % of results within a quantum of the peer's",
                    100 * float(alike.float().mean()),
                    ">=",
                    99.9,
                )
            for _ in range(options.rounds):
                for process in running:
                    process.time(0.3)
            fastest = [min(process.times) for process in running]
            yield Figure(f"{name}: ms a call", 1e3 * fastest[0])
            if len(running) > 1:
                yield Figure(f"{name}: speed / the peer's", fastest[1] / fastest[0], ">=", 1.0)
            for process in running:
                process.close()

    return measure


PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Figure]]] = {
    "digits": digits,
    "minilm": minilm,
    "mobilenet_v2": images("mobilenet_v2"),
    "resnet50": images("resnet50"),
}


def main() -> None:
    """Measure, print the table, write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--embedding-bits", type=int, choices=(4, 8, 32), default=8, help="of MiniLM's tables")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    found: list[Figure] = []
    for part in options.parts:
        for figure in PARTS[part](options):
            found.append(figure)
            print(figure.name, f"{figure.value:.4g}", file=sys.stderr, flush=True)
    rows = [
        (
            row.name,
            row.value,
            f"{row.relation} {row.bound or 0:g}" if row.relation else "",
            {True: "holds", False: "MISSED", None: ""}[row.holds],
        )
        for row in found
    ]
    print(tabulate(rows, headers=("figure", "value", "to be", ""), floatfmt=".4g"))
    if options.json:
        options.json.write_text(json.dumps([{**row._asdict(), "holds": row.holds} for row in found], indent=1))


if __name__ == "__main__":
    main()
