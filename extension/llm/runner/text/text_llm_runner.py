# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`TextLLMRunner`: the C++ runner, with paths of any kind and text as an iterator."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from executorch.extension.pybindings import _portable_lib

_native: Any = _portable_lib._llm_runner  # type: ignore[attr-defined]

GenerationConfig: Any = _native.GenerationConfig
"""Options of a generation; all arguments are keyword arguments."""
Stats: Any = _native.Stats
"""Times (ms), counts and rates of a generation."""
Tokenizer: Any = _native.Tokenizer
"""A tokenizer file as the runners read it: `encode(text, bos, eos)`, `decode(tokens)`.

Files of tiktoken name neither special tokens nor the pattern of words: `Tokenizer(path, special_tokens=…, pattern=…,
bos_token_index=…, eos_token_index=…)`; those of Llama 3 are the default.
"""

Path = str | os.PathLike[str]
TokenCallback = Callable[[str], object]
StatsCallback = Callable[[Any], object]
Prompt = TypeVar("Prompt")


class Runner(Generic[Prompt]):
    """Methods that all runners share.

    model_path: the program; tokenizer_path: a tokenizer.json, tekken.json, file of tiktoken, sentencepiece or llama2.c,
    or a folder with one of them; data_path: a .ptd file with weights. `progress(bytes, total)` is called while the
    files are read. Errors are the classes of `executorch.runtime.errors`; after one, the runner is as it was before the
    call. An exception of a callback ends the call and passes through.
    """

    _kind: str
    _method_name = "forward"

    def __init__(
        self,
        model_path: Path,
        tokenizer_path: Path,
        data_path: Path | None = None,
        *,
        progress: Callable[[int, int], object] | None = None,
    ) -> None:
        data = None if data_path is None else os.fspath(data_path)
        make = getattr(_native, self._kind)
        self._runner = make(os.fspath(model_path), os.fspath(tokenizer_path), data, progress, self._method_name)

    def generate(
        self,
        prompt: Prompt,
        config: Any = None,
        token_callback: TokenCallback | None = None,
        stats_callback: StatsCallback | None = None,
    ) -> None:
        """Append the prompt to the cache and generate; the callback receives text as it is generated."""
        self._runner.generate(prompt, config or GenerationConfig(), token_callback, stats_callback)

    def stream(self, prompt: Prompt, config: Any = None) -> Iterator[str]:
        """Yield text as it is generated. Closing the iterator stops the generation."""
        pieces: queue.Queue[str | BaseException | None] = queue.Queue()

        def work() -> None:
            try:
                self.generate(prompt, config, pieces.put)
            except BaseException as error:  # noqa: BLE001  # raised where it is read
                pieces.put(error)
            pieces.put(None)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        try:
            while (piece := pieces.get()) is not None:
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
        finally:
            if thread.is_alive():
                self.stop()
            thread.join()

    def _prefill(self, inputs: Sequence[Any], num_bos: int, num_eos: int) -> int:
        token: int = self._runner.prefill(list(inputs), num_bos, num_eos)
        return token

    def stop(self) -> None:
        """End a running generation after its current token. Callbacks and other threads may call it."""
        self._runner.stop()

    def reset(self) -> None:
        """Start again with an empty cache."""
        self._runner.reset()

    def get_vocab_size(self) -> int:
        """Return the number of the tokenizer's tokens."""
        size: int = self._runner.get_vocab_size()
        return size

    @property
    def position(self) -> int:
        """Number of entries in the cache."""
        count: int = self._runner.position
        return count

    @property
    def metadata(self) -> dict[str, int]:
        """Values of the program's constant methods: `get_max_context_len`, `use_kv_cache`, …"""
        values: dict[str, int] = self._runner.metadata
        return values

    @property
    def stats(self) -> Any:
        """Statistics of the last generation, and the times of loading."""
        return self._runner.stats


class TextLLMRunner(Runner[str]):
    """Generates text with an exported language model.

    method_name: the method to run, such as one with an adapter; a program without `forward` may have `prefill` and
    `decode` in its place.
    """

    _kind = "TextLLMRunner"

    def __init__(
        self,
        model_path: Path,
        tokenizer_path: Path,
        data_path: Path | None = None,
        *,
        method_name: str = "forward",
        progress: Callable[[int, int], object] | None = None,
    ) -> None:
        self._method_name = method_name
        super().__init__(model_path, tokenizer_path, data_path, progress=progress)

    def prefill(self, prompt: str | Sequence[Any], config: Any = None, *, num_bos: int = 0, num_eos: int = 0) -> int:
        """Append a text, or a list of texts and tokens as `MultimodalInput`; return the most likely next token."""
        if config is not None:
            num_bos, num_eos = config.num_bos, config.num_eos
        inputs = [_native.MultimodalInput(prompt)] if isinstance(prompt, str) else prompt
        return self._prefill(inputs, num_bos, num_eos)
