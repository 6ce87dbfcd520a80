# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The compared engines, and the process that keeps one of them loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import sleep
from typing import NamedTuple

# Seconds before an engine's turn, because threads of the previous engine may spin after its last call.
_SETTLING = 0.1

WORKER = Path(__file__).with_name("engine_worker.py")


class Engine(NamedTuple):
    """An engine to compare.

    name: as reports call it. worker: the entry of `engine_worker`. python: the variable with its interpreter's path.
    own: the engine exists only with that variable; others run in this interpreter without it.
    products: the precision of the factors in its products, whose peak bounds its time.
    """

    name: str
    worker: str
    python: str | None = None
    own: bool = False
    products: str = "fp32"


ENGINES = {
    engine.name: engine
    for engine in (
        Engine("ours", "executorch"),
        Engine("ours-portable", "executorch-portable"),
        Engine("eager", "eager"),
        Engine("peer", "executorch", "EXECUTORCH_PEER_PYTHON", own=True),
        Engine("peer-portable", "executorch-portable", "EXECUTORCH_PEER_PYTHON", own=True),
        Engine("xnnpack", "xnnpack"),
        Engine("onnxruntime", "onnxruntime", "BENCHMARK_PYTHON"),
        Engine("openvino", "openvino", "BENCHMARK_PYTHON"),
    )
}

PRECISIONS = {
    "half": [Engine("ours-half", "executorch-half")],
    "bfloat16": [Engine("ours-bfloat16", "executorch-bfloat16", products="bf16")],
    "bf16-compute": [
        Engine("ours-bf16-compute", "executorch-bf16-compute", products="bf16"),
        Engine("openvino-default", "openvino-default", "BENCHMARK_PYTHON", products="bf16"),
    ],
    "int8": [
        Engine("ours-int8", "executorch-int8", products="int8"),
        Engine("peer-int8", "executorch-int8", "EXECUTORCH_PEER_PYTHON", own=True, products="int8"),
        Engine("onnxruntime-int8", "onnxruntime-int8", "BENCHMARK_PYTHON", products="int8"),
        Engine("openvino-int8", "openvino-int8", "BENCHMARK_PYTHON", products="int8"),
    ],
}
"""Further engines: models in half precision, float32 models whose products round to bfloat16, and int8 models of each
engine's quantizer."""


def with_peaks(engines: Sequence[Engine]) -> list[Engine]:
    """Return the engines and, for each precision of their products, the engine of bare multiply-adds (peak/)."""
    precisions = dict.fromkeys(engine.products for engine in engines)
    return [*engines, *(Engine(f"peak-{name}", f"peak-{name}", products=name) for name in precisions)]


class EngineUnavailable(RuntimeError):
    """The engine is missing or cannot run the model; the message says which and why."""


class EngineProcess:
    """An engine with a model in a process of its own. Raises EngineUnavailable if it is not available."""

    def __init__(self, engine: Engine, model: str, threads: int, worker: Path = WORKER) -> None:
        self.engine = engine
        self.times: list[float] = []
        python = os.environ.get(engine.python) if engine.python else None
        if engine.own and not python:
            raise EngineUnavailable(f"{engine.name}: {engine.python} is not set")
        # Another interpreter finds its own packages, not this project's.
        environment = {k: v for k, v in os.environ.items() if not python or k != "PYTHONPATH"}
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (lives as long as the process)
        self._process = subprocess.Popen(
            [python or sys.executable, str(worker), engine.worker, model, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**environment, "OMP_NUM_THREADS": str(threads)},
        )
        self.facts: dict[str, float] = json.loads(self._answer())

    def time(self, min_seconds: float) -> None:
        """Measure one figure, the median seconds of a call, over at least ``min_seconds`` seconds."""
        assert self._process.stdin
        sleep(_SETTLING)
        print(min_seconds, file=self._process.stdin, flush=True)
        self.times.append(float(self._answer()))

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        self._errors.close()

    def _answer(self) -> str:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._errors.seek(0)
            last = [text for text in self._errors.read().splitlines() if text.strip()][-1:]
            self.close()
            raise EngineUnavailable(f"{self.engine.name}: {last[0] if last else 'ended without output'}")
        return line
