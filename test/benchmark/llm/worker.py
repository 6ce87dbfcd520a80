# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""One engine with one decoder in a process of its own.

``PYTHON worker.py KIND FILE THREADS CONTEXT``. Speaks JSON lines: first load time and memory, then an answer to each
request ``{"prefill": tokens}`` or ``{"decode": cached, "steps": n}``: seconds of the prefill, or of a step. With one
thread, seconds are of processor time, which other processes disturb least.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

Clock = Callable[[], float]
"""Returns seconds since some moment."""
CHUNK = 512
"""Tokens of the longest prefill."""


class Decoder(Protocol):
    """A loaded decoder. Times are seconds of `clock`."""

    def prefill(self, count: int, clock: Clock) -> float:
        """Return the time of the logits after a prompt of `count` tokens."""

    def step(self, cached: int, steps: int, clock: Clock) -> float:
        """Return the least time of a step behind `cached` tokens."""


class _Evaluator:
    """A decoder whose engine evaluates tokens at any position."""

    _filled = 0

    def evaluate(self, count: int, position: int) -> None:
        """Compute the logits after `count` tokens that begin at a position; earlier positions are cached."""
        raise NotImplementedError

    def prefill(self, count: int, clock: Clock) -> float:
        self._filled = 0
        start = clock()
        self.evaluate(count, 0)
        return clock() - start

    def step(self, cached: int, steps: int, clock: Clock) -> float:
        if self._filled != cached:
            for position in range(0, cached, CHUNK):
                self.evaluate(min(CHUNK, cached - position), position)
            self._filled = cached
        self.evaluate(1, cached)
        best = float("inf")
        for _ in range(steps):
            start = clock()
            self.evaluate(1, cached)
            best = min(best, clock() - start)
        return best


class Executorch(_Evaluator):
    """A program of export_llama on our runtime, which needs no torch."""

    def __init__(self, file: str, threads: int, context: int) -> None:
        from executorch.extension.pybindings import portable_lib
        from executorch.runtime import Runtime

        portable_lib._unsafe_reset_threadpool(threads)
        self._program = Runtime.get().load_program(Path(file), **self._options(file))
        self._method = self._program.load_method("forward")

    def _options(self, file: str) -> dict[str, Any]:
        """Keep packed weights in a file, which the first load writes."""
        return {"backend_options": {"XnnpackBackend": {"packed_cache_path": f"{file}.packed"}}}

    def _array(self, values: list[Any]) -> Any:
        import numpy as np

        return np.asarray(values, dtype=np.int64)

    def evaluate(self, count: int, position: int) -> None:
        self._method.execute([self._array([[(7 * i) % 251 for i in range(count)]]), self._array([position])])


class Peer(Executorch):
    """The same API at the peer, whose kernels of language models are libraries of torch."""

    def __init__(self, file: str, threads: int, context: int) -> None:
        from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401
        from executorch.kernels import quantized  # noqa: F401

        super().__init__(file, threads, context)

    def _options(self, file: str) -> dict[str, Any]:
        return {}

    def _array(self, values: list[Any]) -> Any:
        import torch

        return torch.tensor(values)


class LlamaCpp(_Evaluator):
    """A GGUF file on llama.cpp, by its C interface."""

    def __init__(self, file: str, threads: int, context: int) -> None:
        import llama_cpp

        self._lib = lib = llama_cpp
        self._log = lib.llama_log_callback(lambda level, text, data: None)  # hundreds of lines otherwise
        lib.llama_log_set(self._log, None)
        lib.llama_backend_init()
        self._model = lib.llama_model_load_from_file(file.encode(), lib.llama_model_default_params())
        if not self._model:
            raise SystemExit(f"llama.cpp cannot load {file}")
        params = lib.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch = context, CHUNK, CHUNK
        params.n_threads = params.n_threads_batch = threads
        self._context = lib.llama_init_from_model(self._model, params)
        self._batch = lib.llama_batch_init(CHUNK, 0, 1)

    def evaluate(self, count: int, position: int) -> None:
        lib, batch = self._lib, self._batch
        lib.llama_memory_seq_rm(lib.llama_get_memory(self._context), 0, position, -1)
        batch.n_tokens = count
        for i in range(count):
            batch.token[i], batch.pos[i], batch.n_seq_id[i] = (7 * i) % 251, position + i, 1
            batch.seq_id[i][0] = 0
            batch.logits[i] = i == count - 1
        if lib.llama_decode(self._context, batch) != 0:
            raise SystemExit("llama_decode failed")
        lib.llama_get_logits_ith(self._context, count - 1)


class OnnxruntimeGenai(_Evaluator):
    """A folder of its model builder on onnxruntime-genai."""

    def __init__(self, file: str, threads: int, context: int) -> None:
        import onnxruntime_genai

        config = onnxruntime_genai.Config(str(Path(file).parent))
        session = {"intra_op_num_threads": threads, "inter_op_num_threads": 1}
        config.overlay(json.dumps({"model": {"decoder": {"session_options": session}}}))
        self._model = onnxruntime_genai.Model(config)
        params = onnxruntime_genai.GeneratorParams(self._model)
        params.set_search_options(max_length=context, do_sample=False, batch_size=1)
        self._generator = onnxruntime_genai.Generator(self._model, params)
        self._length = 0

    def evaluate(self, count: int, position: int) -> None:
        import numpy as np

        if position != self._length:
            self._generator.rewind_to(position)
        self._generator.append_tokens(np.array([[3 + (7 * i) % 251 for i in range(count)]], dtype=np.int32))
        self._length = position + count


class OpenvinoGenai:
    """A GGUF file with a vocabulary on openvino-genai, whose pipeline evaluates whole prompts only."""

    def __init__(self, file: str, threads: int, context: int) -> None:
        import openvino_genai

        self._genai = openvino_genai
        self._pipeline = openvino_genai.LLMPipeline(file, "CPU", INFERENCE_NUM_THREADS=threads)
        self._prompts = 0

    def _generate(self, prompt: int, generated: int, at_token: Callable[[], None]) -> None:
        import numpy as np
        import openvino

        self._prompts += 1  # the pipeline keeps prefixes of earlier prompts
        tokens = np.array([[3 + (7 * i + 13 * self._prompts) % 251 for i in range(prompt)]], dtype=np.int64)
        config = self._genai.GenerationConfig()
        config.max_new_tokens, config.ignore_eos, config.do_sample = generated, True, False
        genai = self._genai

        class Streamer(genai.StreamerBase):  # type: ignore[misc, name-defined]
            def write(self, _: Any) -> Any:
                at_token()
                return genai.StreamingStatus.RUNNING

            def end(self) -> None:
                pass

        inputs = genai.TokenizedInputs(openvino.Tensor(tokens), openvino.Tensor(np.ones_like(tokens)))
        self._pipeline.generate(inputs, config, Streamer())

    def prefill(self, count: int, clock: Clock) -> float:
        start = clock()
        self._generate(count, 1, lambda: None)
        return clock() - start

    def step(self, cached: int, steps: int, clock: Clock) -> float:
        """Return the mean time, because the pipeline reports tokens from another thread than it computes on."""
        times: list[float] = []
        self._generate(cached, steps + 1, lambda: times.append(clock()))
        return (times[-1] - times[0]) / steps


KINDS: dict[str, Callable[[str, int, int], Decoder]] = {
    "ours": Executorch,
    "peer": Peer,
    "llama.cpp": LlamaCpp,
    "onnxruntime-genai": OnnxruntimeGenai,
    "openvino-genai": OpenvinoGenai,
}


def _clock(threads: int) -> Clock:
    return time.process_time if threads == 1 else time.perf_counter


def _resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def read_bandwidth(threads: int) -> float:
    """Return the read bandwidth, bytes a second: the faster of sum and dot over 256 MB."""
    import torch

    torch.set_num_threads(threads)
    data, clock = torch.ones(1 << 26), _clock(threads)
    best = 0.0
    for _ in range(3):
        for read in (data.sum, lambda: torch.dot(data, data)):
            start = clock()
            read()
            best = max(best, data.nbytes / (clock() - start))
    return best


def main() -> None:
    """Load, then answer."""
    kind, file, threads, context = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    answers = os.fdopen(os.dup(1), "w")  # libraries print
    os.dup2(2, 1)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    clock = _clock(threads)
    if kind == "bandwidth":
        print(json.dumps({}), file=answers, flush=True)
        for _ in sys.stdin:
            print(1 / read_bandwidth(threads), file=answers, flush=True)
        return
    start = clock()
    decoder = KINDS[kind](file, threads, context)
    decoder.prefill(1, clock)
    first = clock() - start
    resident = _resident_megabytes()
    del decoder  # load again without the imports
    start = clock()
    decoder = KINDS[kind](file, threads, context)
    loaded = clock() - start
    decoder.prefill(1, clock)
    print(json.dumps({"first load": first, "load": loaded, "resident": resident}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        if "prefill" in request:
            seconds = decoder.prefill(request["prefill"], clock)
        else:
            seconds = decoder.step(request["decode"], request["steps"], clock)
        print(seconds, file=answers, flush=True)


if __name__ == "__main__":
    main()
