# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Generate text with an exported language model: ``python -m executorch.examples.models.llama.runner.native``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from executorch.extension.llm.runner import GenerationConfig, TextLLMRunner


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="executorch.examples.models.llama.runner.native", description=__doc__)
    parser.add_argument("--model", help="not needed: the program describes the model")
    parser.add_argument("-f", "--pte", type=Path, required=True, help="the program (.pte)")
    parser.add_argument("-p", "--params", type=Path, help="not needed: the program contains the sizes")
    parser.add_argument("-t", "--tokenizer", type=Path, required=True, help="file of the tokenizer")
    parser.add_argument("--tokenizer_config", type=Path, help="tokenizer_config.json in the tokenizer's folder")
    parser.add_argument("--prompt", default="Hello", help="text to continue (default: Hello)")
    parser.add_argument("--temperature", type=float, default=0.6, help="0 takes the most likely token (default: 0.6)")
    parser.add_argument(
        "-kv", "--kv_cache", action="store_true", help="not needed: the program states whether it has a cache"
    )
    parser.add_argument(
        "--max_len", type=int, default=128, help="maximum number of tokens of prompt and answer (default: 128)"
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the generated text as it comes. Exits with code 2 for files that are missing or do not fit."""
    parser = _parser()
    options = parser.parse_args(arguments)
    for name in ("pte", "params", "tokenizer", "tokenizer_config"):
        path: Path | None = getattr(options, name)
        if path is not None and not path.exists():
            parser.error(f"--{name}: no such file: {path}")
    tokenizer_folder = options.tokenizer.resolve().parent
    if options.tokenizer_config is not None and options.tokenizer_config.resolve().parent != tokenizer_folder:
        parser.error(f"--tokenizer_config: expected a file in the tokenizer's folder {tokenizer_folder}")
    runner = TextLLMRunner(options.pte, options.tokenizer)
    config = GenerationConfig(seq_len=options.max_len, temperature=options.temperature, echo=True)
    for text in runner.stream(options.prompt, config):
        print(text, end="", flush=True)
    print()


if __name__ == "__main__":
    main()
