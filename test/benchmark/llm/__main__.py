# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Times decoders with identical random weights on our engine, the peer and llama.cpp, interleaved in one run.

``python -m test.benchmark.llm [--shape NAME] [--bits 32 16 8 4] [--engines NAME …] [--threads N …] [--cached N …]
[--cache fp16] [--folder FOLDER] [--peer-python FILE] [--llama-python FILE]``

Prints tokens a second of prefill and decode, the share of the read bandwidth (measured in the same rounds) that decode
reaches, load time (ours: with packed weights in a file beside the program) and resident memory. llama.cpp keeps keys
and values in float16, as ours does by default (--cache); with 16 bits, ours keeps them in bfloat16, and the peer in the
dtype of its model. Exported files stay in --folder and are used again. An engine whose interpreter is missing is left
out, with a message. The least time of all rounds counts; with one thread it is processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from .checkpoints import with_names_of_peer, write_checkpoint
from .shapes import SHAPES, DecoderShape, shape_of

_WORKER = Path(__file__).with_name("worker.py")
_CHECKPOINTS = Path(__file__).with_name("checkpoints.py")
_OPTIONS = {
    32: ["-d", "fp32"],
    16: ["-d", "bf16"],
    8: ["-d", "fp32", "-qmode", "torchao:8da8w", "-G", "0", "-E", "8,0"],
    4: ["-d", "fp32", "-qmode", "8da4w", "-G", "32", "-E", "4,32"],
}
_GGUF_TYPES = {32: "F32", 16: "BF16", 8: "Q8_0", 4: "Q4_0"}
# Bits that are read for a weight, with scales: of groups of 32 in bfloat16 or float16, or of rows.
_WEIGHT_BITS = {"ours": {32: 32.0, 16: 16.0, 8: 8.0, 4: 4.5}, "llama.cpp": {32: 32.0, 16: 16.0, 8: 8.5, 4: 4.5}}


def _cache_bytes(engine: str, bits: int, cache: str) -> int:
    """Return the size of an element of the cache: float16 in llama.cpp, the model's dtype in the peer."""
    return 4 if bits != 16 and (engine == "peer" or (engine == "ours" and cache == "fp32")) else 2


class EngineUnavailable(RuntimeError):
    """An engine that is missing or cannot run the decoder."""


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


def _export(
    engine: str, python: str, shape: DecoderShape, checkpoint: Path, bits: int, context: int, cache: str
) -> Path:
    """Return the file of an engine, exported where it does not exist. Raises EngineUnavailable."""
    folder = checkpoint.parent
    if engine == "llama.cpp":
        path = folder / f"{_GGUF_TYPES[bits]}.gguf"
        command = [sys.executable, str(_CHECKPOINTS), str(checkpoint), str(path), _GGUF_TYPES[bits]]
    else:
        is_reduced = engine == "ours" and bits != 16 and cache != "fp32"
        path = folder / f"{engine}-{bits}-{context}{'-' + cache if is_reduced else ''}.pte"
        weights = with_names_of_peer(checkpoint) if engine == "peer" else checkpoint
        command = [python, "-m", "executorch.examples.models.llama.export_llama", "--model", shape.model_class]
        command += ["-c", str(weights), "-p", str(folder / "params.json"), "-kv", "--use_sdpa_with_kv_cache", "-X"]
        command += ["--xnnpack-extended-ops", "--max_seq_length", "512"]
        command += ["--max_context_length", str(context), "-o", str(folder), "-n", path.name, *_OPTIONS[bits]]
        command += ["--kv_cache_dtype", cache] if is_reduced else []
    if not path.exists():
        print(f"{engine}, {bits} bits: exporting", file=sys.stderr, flush=True)
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH" or python == sys.executable}
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=False)
        if done.returncode != 0 or not path.exists():
            path.unlink(missing_ok=True)
            last = "\n".join((done.stderr or done.stdout).splitlines()[-3:])
            raise EngineUnavailable(f"{engine}, {bits} bits: cannot export: {last}")
    return path


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


def _report(shape: DecoderShape, found: list[Running], threads: int, options: argparse.Namespace, speed: float) -> None:
    prefills = [f"prefill {count}" for count in options.prefill]
    decodes = [f"decode {count}" for count in options.cached]
    print(f"\n{options.shape}, {threads} threads; read bandwidth {speed / 1e9:.1f} GB/s; our cache: {options.cache}")
    columns = [*prefills, *(text for decode in decodes for text in (decode, "share")), "load s", "RSS MB"]
    print(f"{'':18}" + "".join(f"{text:>14}" for text in columns))
    for figure in found:
        cells = [f"{count / figure.best[name]:.1f}" for count, name in zip(options.prefill, prefills, strict=True)]
        weights = _WEIGHT_BITS["llama.cpp" if figure.engine == "llama.cpp" else "ours"][figure.bits] / 8
        for cached, name in zip(options.cached, decodes, strict=True):
            read = weights * shape.step_weights()
            read += _cache_bytes(figure.engine, figure.bits, options.cache) * shape.cache_elements(cached)
            cells += [f"{1 / figure.best[name]:.1f}", f"{read / figure.best[name] / speed:.0%}"]
        cells += [f"{figure.facts['load']:.2f}", f"{figure.facts['resident']:.0f}"]
        print(f"{figure.engine + f', {figure.bits} bits':18}" + "".join(f"{cell:>14}" for cell in cells), flush=True)


def measure(shape: DecoderShape, threads: int, options: argparse.Namespace, pythons: dict[str, str]) -> None:
    """Time all engines in turn, round by round, and print a table."""
    folder: Path = options.folder / (options.shape + (f"-{options.layers}" if options.layers else ""))
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint = folder / "random.pth"
    if not checkpoint.exists():
        write_checkpoint(shape, checkpoint)
    context = -(-(max(options.cached) + 512) // 128) * 128
    found: list[Running] = []
    bandwidth = _start("bandwidth", sys.executable, 0, checkpoint, threads, context)
    try:
        for bits in options.bits:
            for engine in options.engines:
                try:
                    if engine not in pythons:
                        raise EngineUnavailable(f"{engine}: its interpreter is not given")
                    file = _export(engine, pythons[engine], shape, checkpoint, bits, context, options.cache)
                    found.append(_start(engine, pythons[engine], bits, file, threads, context))
                except EngineUnavailable as reason:
                    print(reason, file=sys.stderr, flush=True)
        requests = {f"prefill {count}": {"prefill": count} for count in options.prefill}
        requests |= {f"decode {cached}": {"decode": cached, "steps": options.steps} for cached in options.cached}
        for _ in range(options.rounds):
            bandwidth.request("inverse", {})
            for name, request in requests.items():
                for figure in list(found):
                    try:
                        figure.request(name, request)
                    except EngineUnavailable as reason:
                        print(reason, file=sys.stderr, flush=True)
                        found.remove(figure)
        _report(shape, found, threads, options, 1 / bandwidth.best["inverse"])
    finally:
        for running in (*found, bandwidth):
            running.process.kill()
            running.process.wait()


def main() -> None:
    """Measure the shape for each number of threads."""
    parser = argparse.ArgumentParser(
        prog="python -m test.benchmark.llm", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shape", choices=list(SHAPES), default="smollm2-135m")
    parser.add_argument("--layers", type=int, help="another number of layers than the published one")
    parser.add_argument("--bits", nargs="+", type=int, choices=list(_OPTIONS), default=[32, 8, 4])
    parser.add_argument("--engines", nargs="+", default=["ours", "peer", "llama.cpp"])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--prefill", nargs="+", type=int, default=[128, 512], help="tokens, at most 512")
    parser.add_argument("--cached", nargs="+", type=int, default=[16, 1024], help="cached tokens of decode steps")
    parser.add_argument("--cache", choices=["fp16", "fp32"], default="fp16", help="dtype of our cache")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=8, help="decode steps in a round")
    parser.add_argument("--folder", type=Path, required=True, help="where checkpoints and exported files stay")
    parser.add_argument("--peer-python", default=os.environ.get("EXECUTORCH_PEER_PYTHON"))
    parser.add_argument("--llama-python", default=os.environ.get("LLAMA_CPP_PYTHON"))
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    given = {"ours": sys.executable, "peer": options.peer_python, "llama.cpp": options.llama_python}
    pythons = {name: python for name, python in given.items() if python}
    for threads in options.threads:
        measure(shape_of(options.shape, options.layers), threads, options, pythons)


if __name__ == "__main__":
    main()
