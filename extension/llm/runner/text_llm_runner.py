# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`TextLLMRunner`: the C++ runner, with paths of any kind and text as an iterator."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

from executorch.extension.pybindings import _portable_lib

_native: Any = _portable_lib._llm_runner  # type: ignore[attr-defined]

GenerationConfig: Any = _native.GenerationConfig
"""How text is generated; keyword arguments alone."""
Stats: Any = _native.Stats
"""Times (ms) and counts of a generation."""
Tokenizer: Any = _native.Tokenizer
"""A tokenizer file as the runners read it: `encode(text, bos, eos)`, `decode(tokens)`.

Files of tiktoken name neither special tokens nor the pattern of words: `Tokenizer(path, special_tokens=…, pattern=…,
bos_token_index=…, eos_token_index=…)`; those of Llama 3 are the default.
"""


class TextLLMRunner:
    """Generates text with an exported language model.

    model_path: the program; tokenizer_path: a tokenizer.json, tekken.json, file of tiktoken, sentencepiece or llama2.c,
    or its folder; data_path: a .ptd file with weights. Errors are the classes of `executorch.runtime.errors`; after
    one, the runner is as it was before the call. What a callback raises ends the call and is passed on.
    """

    def __init__(
        self,
        model_path: str | os.PathLike[str],
        tokenizer_path: str | os.PathLike[str],
        data_path: str | os.PathLike[str] | None = None,
    ) -> None:
        data = None if data_path is None else os.fspath(data_path)
        self._runner = _native.TextLLMRunner(os.fspath(model_path), os.fspath(tokenizer_path), data)

    def generate(
        self,
        prompt: str,
        config: Any = None,
        token_callback: Callable[[str], object] | None = None,
        stats_callback: Callable[[Any], object] | None = None,
    ) -> None:
        """Append the prompt to the cache and generate; the callback receives text as it is generated."""
        self._runner.generate(prompt, config or GenerationConfig(), token_callback, stats_callback)

    def stream(self, prompt: str, config: Any = None) -> Iterator[str]:
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

    def prefill(self, prompt: str, num_bos: int = 0, num_eos: int = 0) -> int:
        """Append the prompt to the cache; return the most likely next token."""
        token: int = self._runner.prefill(prompt, num_bos, num_eos)
        return token

    def stop(self) -> None:
        """End a running generation after its current token; from a callback or another thread."""
        self._runner.stop()

    def reset(self) -> None:
        """Begin again with an empty cache."""
        self._runner.reset()

    def get_vocab_size(self) -> int:
        """The number of the tokenizer's tokens."""
        size: int = self._runner.get_vocab_size()
        return size

    @property
    def position(self) -> int:
        """How many tokens the cache holds."""
        held: int = self._runner.position
        return held

    @property
    def metadata(self) -> dict[str, int]:
        """Values of the program's constant methods: `get_max_context_len`, `use_kv_cache`, …"""
        found: dict[str, int] = self._runner.metadata
        return found
