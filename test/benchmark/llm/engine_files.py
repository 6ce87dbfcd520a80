# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The file of each engine for a checkpoint, and the bits that the engine reads for weights and cached elements."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .checkpoints import with_names_of_peer
from .shapes import DecoderShape

_CHECKPOINTS = Path(__file__).with_name("checkpoints.py")
EXPORT_OPTIONS = {
    32: ["-d", "fp32"],
    16: ["-d", "bf16"],
    8: ["-d", "fp32", "-qmode", "torchao:8da8w", "-G", "0", "-E", "8,0"],
    4: ["-d", "fp32", "-qmode", "8da4w", "-G", "32", "-E", "4,32"],
}
"""Options of export_llama by bits of a weight."""
_GGUF_TYPES = {32: "F32", 16: "BF16", 8: "Q8_0", 4: "Q4_0"}
_OPENVINO_TYPES = {16: "F16", 8: "Q8_0", 4: "Q4_0"}
_ONNX_PRECISIONS = {32: "fp32", 8: "int8", 4: "int4"}
# With scales: of groups of 32 in bfloat16, float16 or (onnxruntime) float32; ours in 8 bits: of rows.
_WEIGHT_BITS = {
    "ours": {32: 32.0, 16: 16.0, 8: 8.0, 4: 4.5},
    "llama.cpp": {32: 32.0, 16: 16.0, 8: 8.5, 4: 4.5},
    "onnxruntime-genai": {32: 32.0, 8: 9.0, 4: 5.0},
}


class EngineUnavailable(RuntimeError):
    """An engine that is missing or cannot run the decoder."""


@dataclass(frozen=True)
class Request:
    """A decoder to write for an engine. python: the engine's interpreter. cache: the dtype of our cache."""

    engine: str
    python: str
    shape: DecoderShape
    checkpoint: Path
    bits: int
    context: int
    cache: str

    @property
    def reduces_cache(self) -> bool:
        """True if the cache and the model differ in dtype."""
        return self.engine == "ours" and self.bits != 16 and self.cache != "fp32"


def weight_bits(engine: str, bits: int) -> float:
    """Return how many bits an engine reads for a weight."""
    same_as = {"peer": "ours", "openvino-genai": "llama.cpp"}
    return _WEIGHT_BITS[same_as.get(engine, engine)][bits]


def cache_bytes(engine: str, bits: int, cache: str) -> int:
    """Return the size of a cached element: float16 in llama.cpp, uint8 in OpenVINO, the model's dtype elsewhere."""
    if engine == "openvino-genai":
        return 1
    is_float32 = engine in ("peer", "onnxruntime-genai") or (engine == "ours" and cache == "fp32")
    return 4 if bits != 16 and is_float32 else 2


def export_file(request: Request) -> Path:
    """Return the file of an engine, written where it does not exist. Raises EngineUnavailable."""
    path, commands = _WRITERS[request.engine](request)
    if path.exists():
        return path
    print(f"{request.engine}, {request.bits} bits: exporting", file=sys.stderr, flush=True)
    for command in commands:
        is_ours = command[0] == sys.executable
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH" or is_ours}
        done = subprocess.run(
            command, cwd=request.checkpoint.parent, capture_output=True, text=True, env=environment, check=False
        )
        if done.returncode != 0:
            path.unlink(missing_ok=True)
            break
    if not path.exists():
        last = "\n".join((done.stderr or done.stdout).splitlines()[-3:])
        raise EngineUnavailable(f"{request.engine}, {request.bits} bits: cannot export: {last}")
    return path


Writer = Callable[[Request], tuple[Path, list[list[str]]]]
"""Returns the path of an engine's file, and the commands that write it."""


def _written(request: Request, path: Path, kind: str) -> list[str]:
    """Return the command that writes a checkpoint in another format."""
    return [sys.executable, str(_CHECKPOINTS), str(request.checkpoint), str(path), kind]


def _kind(request: Request, kinds: dict[int, str]) -> str:
    if request.bits not in kinds:
        raise EngineUnavailable(f"{request.engine} supports no {request.bits}-bit weights on CPUs")
    return kinds[request.bits]


def _program(request: Request) -> tuple[Path, list[list[str]]]:
    folder, bits, context = request.checkpoint.parent, request.bits, request.context
    cache = f"-{request.cache}" if request.reduces_cache else ""
    path = folder / f"{request.engine}-{bits}-{context}{cache}.pte"
    weights = request.checkpoint
    if request.engine == "peer" and not path.exists():
        weights = with_names_of_peer(request.checkpoint)
    command = [request.python, "-m", "executorch.examples.models.llama.export_llama"]
    command += ["--model", request.shape.model_class, "-c", str(weights), "-p", str(folder / "params.json")]
    command += ["-kv", "--use_sdpa_with_kv_cache", "-X", "--xnnpack-extended-ops", "--max_seq_length", "512"]
    command += ["--max_context_length", str(context), "-o", str(folder), "-n", path.name, *EXPORT_OPTIONS[bits]]
    command += ["--kv_cache_dtype", request.cache] if request.reduces_cache else []
    return path, [command]


def _gguf(request: Request) -> tuple[Path, list[list[str]]]:
    path = request.checkpoint.with_name(f"{_GGUF_TYPES[request.bits]}.gguf")
    return path, [_written(request, path, path.stem)]


def _gguf_with_vocabulary(request: Request) -> tuple[Path, list[list[str]]]:
    path = request.checkpoint.with_name(f"{_kind(request, _OPENVINO_TYPES)}-vocabulary.gguf")
    return path, [_written(request, path, path.stem)]


def _onnx(request: Request) -> tuple[Path, list[list[str]]]:
    precision = _kind(request, _ONNX_PRECISIONS)
    source, folder = (request.checkpoint.with_name(name) for name in ("hugging-face", f"onnx-{precision}"))
    build = [request.python, "-m", "onnxruntime_genai.models.builder", "-i", str(source), "-o", str(folder)]
    build += ["-p", precision, "-e", "cpu", "-c", str(folder / "cache")]
    build += ["--extra_options", "block_size=32", "accuracy_level=4"] if request.bits < 16 else []
    return folder / "genai_config.json", [_written(request, source, "hugging-face"), build]


_WRITERS: dict[str, Writer] = {
    "ours": _program,
    "peer": _program,
    "llama.cpp": _gguf,
    "onnxruntime-genai": _onnx,
    "openvino-genai": _gguf_with_vocabulary,
}
ENGINES = tuple(_WRITERS)
"""Names of the engines that the benchmark can run."""
