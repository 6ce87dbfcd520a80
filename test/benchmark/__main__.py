# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Times models on our engine, eager PyTorch, the peer, onnxruntime and openvino, interleaved in one run.

``python -m test.benchmark [MODEL ...] [--threads N ...] [--engines NAME ...] [--precision NAME ...] [--rounds N]
[--json FILE] [--plot FILE]``

Every engine has a process of its own, pinned to as many cores as it has threads, and holds the model ready; the
engines are then timed in turn, round by round, so that other load affects all alike. The figure is the median over
the rounds. ``EXECUTORCH_PEER_PYTHON`` names the peer's interpreter, ``BENCHMARK_PYTHON`` the one where onnxruntime
and openvino are installed (default: this one). Missing engines are left out, with a message.

``--precision half bfloat16 bf16-compute`` adds our engine on ``model.half()`` and ``model.bfloat16()``, and on
float32 with products in bfloat16 beside openvino with its default precision. ``--precision int8`` adds models that
the quantizers of our engine, the peer, onnxruntime and openvino (NNCF) changed to int8; ``--engines`` without a name
leaves out float32.

The rows ``peak-fp32``, ``peak-bf16`` and ``peak-int8`` give the time of as many bare multiply-add instructions as the
model's products have; the column "of peak" gives this time over that of the row. A C++ compiler makes them.

The engine ``xnnpack`` is XNNPACK's operator called directly, for models of one operator; build it with
``cmake --build BUILD --target xnnpack_direct`` and name the library by ``XNNPACK_DIRECT``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from tqdm import tqdm

from .engine_process import ENGINES, PRECISIONS, Engine, EngineProcess, EngineUnavailable, with_peaks
from .engine_report import Measurement, plot, table

MODELS = (
    *("mobilenet_v2", "mobilenet_v3", "efficientnet_b0", "resnet18", "resnet50", "vit_tiny", "minilm"),
    *("decoder_512", "decoder_512_token", "lstm_256", "gru_256", "linear_1024", "depthwise_112"),
)


def measure(model: str, threads: int, engines: list[Engine], rounds: int, min_seconds: float) -> list[Measurement]:
    """All engines on one model: prepared one after the other, timed in turn."""
    running: list[EngineProcess] = []
    try:
        for engine in tqdm(with_peaks(engines), desc=f"{model}, {threads} threads: preparing", leave=False):
            try:
                running.append(EngineProcess(engine, model, threads))
            except EngineUnavailable as reason:
                print(f"{model}: {reason}", file=sys.stderr)
        for _ in tqdm(range(rounds), desc=f"{model}, {threads} threads: rounds", leave=False):
            for process in running:
                process.time(min_seconds)
        return [
            Measurement(
                model, threads, process.engine.name, process.engine.products, tuple(process.times), process.facts
            )
            for process in running
        ]
    finally:
        for process in running:
            process.close()


def main() -> None:
    """Measure, print the table, write the files."""
    parser = argparse.ArgumentParser(
        prog="python -m test.benchmark", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", default=list(MODELS), help=", ".join(MODELS))
    parser.add_argument("--engines", nargs="*", choices=list(ENGINES), default=list(ENGINES))
    parser.add_argument("--precision", nargs="+", choices=list(PRECISIONS), default=[], help="further engines")
    parser.add_argument("--threads", nargs="+", type=int, default=[1])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.3, help="of calls, a round and engine")
    parser.add_argument("--json", type=Path, help="where to write every time measured")
    parser.add_argument("--plot", type=Path, help="where to draw the ratios to our time (PNG, SVG)")
    options = parser.parse_args()
    if max(options.threads) > (cores := len(os.sched_getaffinity(0))):
        parser.error(f"--threads {max(options.threads)}: this process may use {cores} cores")
    engines = [ENGINES[name] for name in options.engines]
    engines += [engine for name in options.precision for engine in PRECISIONS[name]]
    measurements: list[Measurement] = []
    for threads in options.threads:
        for model in options.models:
            new = measure(model, threads, engines, options.rounds, options.seconds)
            measurements += new
            print(table(new), flush=True)
    if len(options.models) * len(options.threads) > 1:
        print(table(measurements))
    if options.json:
        options.json.write_text(json.dumps([measurement._asdict() for measurement in measurements], indent=1))
    if options.plot:
        plot(measurements, options.plot)


if __name__ == "__main__":
    main()
