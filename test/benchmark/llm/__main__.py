# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Times decoders with identical random weights on our engine and on others, interleaved in one run.

``python -m test.benchmark.llm [--shape NAME] [--bits 32 16 8 4] [--engines NAME …] [--threads N …] [--cached N …]
[--cache fp16] [--folder FOLDER] [--peer-python FILE] [--llama-python FILE] [--onnxruntime-python FILE]
[--openvino-python FILE]``

Prints tokens a second of prefill and decode, the share of the read bandwidth (measured in the same rounds) that decode
reaches, load time (ours: with packed weights in a file beside the program) and resident memory. llama.cpp keeps keys
and values in float16, as ours does by default (--cache); with 16 bits, ours keeps them in bfloat16; the peer and
onnxruntime-genai in the dtype of the model, openvino-genai in uint8. Exported files stay in --folder and are used
again. An engine whose interpreter is missing is left out, with a message. The least time of all rounds counts; with one
thread it is processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from .checkpoints import write_checkpoint
from .engine_files import (
    ENGINES,
    EXPORT_OPTIONS,
    EngineUnavailable,
    Request,
    cache_bytes,
    export_file,
    weight_bits,
)
from .shapes import SHAPES, DecoderShape, shape_of

_WORKER = Path(__file__).with_name("worker.py")


@dataclass
class Running:
    """A worker with a decoder."""

    engine: str
    bits: int
    process: subprocess.Popen[str]
    facts: dict[str, float] = field(default_factory=dict)
    best: dict[str, float] = field(default_factory=dict)

    def answer(self) -> str:
        """Read a line. Raises EngineUnavailable when the process has ended."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise EngineUnavailable(f"{self.engine}, {self.bits} bits: the worker ended; its message is above")
        return line

    def request(self, name: str, request: dict[str, int]) -> None:
        """Time a request and keep the least time under a name."""
        assert self.process.stdin is not None
        print(json.dumps(request), file=self.process.stdin, flush=True)
        self.best[name] = min(float(self.answer()), self.best.get(name, float("inf")))


def _start(engine: str, python: str, bits: int, file: Path, threads: int, context: int) -> Running:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH" or python == sys.executable}
    process = subprocess.Popen(
        [python, str(_WORKER), engine, str(file), str(threads), str(context)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=file.parent,
    )
    running = Running(engine, bits, process)
    running.facts = json.loads(running.answer())
    return running


def _report(shape: DecoderShape, runs: list[Running], threads: int, options: argparse.Namespace, speed: float) -> None:
    prefills = [f"prefill {count}" for count in options.prefill]
    decodes = [f"decode {count}" for count in options.cached]
    print(f"\n{options.shape}, {threads} threads; read bandwidth {speed / 1e9:.1f} GB/s; our cache: {options.cache}")
    columns = [*prefills, *(text for decode in decodes for text in (decode, "share")), "load s", "RSS MB"]
    print(f"{'':28}" + "".join(f"{text:>14}" for text in columns))
    for figure in runs:
        cells = [f"{count / figure.best[name]:.1f}" for count, name in zip(options.prefill, prefills, strict=True)]
        weights = weight_bits(figure.engine, figure.bits) / 8
        for cached, name in zip(options.cached, decodes, strict=True):
            read = weights * shape.step_weights()
            read += cache_bytes(figure.engine, figure.bits, options.cache) * shape.cache_elements(cached)
            cells += [f"{1 / figure.best[name]:.1f}", f"{read / figure.best[name] / speed:.0%}"]
        cells += [f"{figure.facts['load']:.2f}", f"{figure.facts['resident']:.0f}"]
        print(f"{figure.engine + f', {figure.bits} bits':28}" + "".join(f"{cell:>14}" for cell in cells), flush=True)


def measure(shape: DecoderShape, threads: int, options: argparse.Namespace, pythons: dict[str, str]) -> None:
    """Time all engines in turn, round by round, and print a table."""
    folder: Path = options.folder / (options.shape + (f"-{options.layers}" if options.layers else ""))
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint = folder / "random.pth"
    if not checkpoint.exists():
        write_checkpoint(shape, checkpoint)
    context = -(-(max(options.cached) + 512) // 128) * 128
    runs: list[Running] = []
    bandwidth = _start("bandwidth", sys.executable, 0, checkpoint, threads, context)
    try:
        for bits in options.bits:
            for engine in options.engines:
                try:
                    if engine not in pythons:
                        raise EngineUnavailable(f"{engine}: its interpreter is not given")
                    file = export_file(
                        Request(engine, pythons[engine], shape, checkpoint, bits, context, options.cache)
                    )
                    runs.append(_start(engine, pythons[engine], bits, file, threads, context))
                except EngineUnavailable as reason:
                    print(reason, file=sys.stderr, flush=True)
        requests = {f"prefill {count}": {"prefill": count} for count in options.prefill}
        requests |= {f"decode {cached}": {"decode": cached, "steps": options.steps} for cached in options.cached}
        for _ in range(options.rounds):
            bandwidth.request("inverse", {})
            for name, request in requests.items():
                for figure in list(runs):
                    try:
                        figure.request(name, request)
                    except EngineUnavailable as reason:
                        print(reason, file=sys.stderr, flush=True)
                        runs.remove(figure)
        _report(shape, runs, threads, options, 1 / bandwidth.best["inverse"])
    finally:
        for running in (*runs, bandwidth):
            running.process.kill()
            running.process.wait()


def main() -> None:
    """Measure the shape for each number of threads."""
    parser = argparse.ArgumentParser(
        prog="python -m test.benchmark.llm", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shape", choices=list(SHAPES), default="smollm2-135m")
    parser.add_argument("--layers", type=int, help="another number of layers than the published one")
    parser.add_argument("--bits", nargs="+", type=int, choices=list(EXPORT_OPTIONS), default=[32, 8, 4])
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=["ours", "peer", "llama.cpp"])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--prefill", nargs="+", type=int, default=[128, 512], help="tokens, at most 512")
    parser.add_argument("--cached", nargs="+", type=int, default=[16, 1024], help="cached tokens of decode steps")
    parser.add_argument("--cache", choices=["fp16", "fp32"], default="fp16", help="dtype of our cache")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=8, help="decode steps in a round")
    parser.add_argument("--folder", type=Path, required=True, help="where checkpoints and exported files stay")
    parser.add_argument("--peer-python", default=os.environ.get("EXECUTORCH_PEER_PYTHON"))
    parser.add_argument("--llama-python", default=os.environ.get("LLAMA_CPP_PYTHON"))
    parser.add_argument("--onnxruntime-python", default=os.environ.get("ONNXRUNTIME_GENAI_PYTHON"))
    parser.add_argument("--openvino-python", default=os.environ.get("OPENVINO_GENAI_PYTHON"))
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    given = {
        "ours": sys.executable,
        "peer": options.peer_python,
        "llama.cpp": options.llama_python,
        "onnxruntime-genai": options.onnxruntime_python,
        "openvino-genai": options.openvino_python,
    }
    pythons = {name: python for name, python in given.items() if python}
    for threads in options.threads:
        measure(shape_of(options.shape, options.layers), threads, options, pythons)


if __name__ == "__main__":
    main()
