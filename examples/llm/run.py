# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A language model from PyTorch to tokens, in float32 and in 4 bits, beside eager PyTorch.

python examples/llm/run.py [seconds of training]    # trains a small decoder of bytes first
python examples/llm/run.py FOLDER                   # takes a local Hugging Face model
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from evaluate import Logits, greedy, perplexity
from model import read_text, save, train

import executorch.extension
from executorch.examples.models.llama.export_llama_lib import export_llama
from executorch.extension.llm.export.export_llm import read_config
from executorch.extension.llm.runner import GenerationConfig, TextLLMRunner
from executorch.runtime import Runtime

LLAMA_MAIN = Path(next(iter(executorch.extension.__path__))).parent / "data" / "bin" / "llama_main"
PROMPT, COUNT = "The value of the expression is ", 90
OPTIONS = [
    "model.use_kv_cache=True", "model.use_sdpa_with_kv_cache=True", "backend.xnnpack.enabled=True",
    "export.max_seq_length=128", "export.max_context_length=384", "debug.generate_full_logits=True",
]  # fmt: skip
FOUR_BITS = ["quantization.qmode=8da4w", "quantization.group_size=32", "quantization.embedding_quantize='8,0'"]


@dataclass(frozen=True)
class Eager:
    """A model in PyTorch, and the options of `export_llm` that name its files."""

    logits_of: Logits
    encode: Callable[[str], list[int]]
    decode: Callable[[list[int]], str]
    tokenizer: Path
    files: list[str]


def train_bytes(seconds: float, folder: Path) -> Eager:
    """Train a decoder of bytes and write its files to the folder."""
    model = train(seconds)
    save(model, folder)
    return Eager(
        model,
        lambda text: list(text.encode()),
        lambda tokens: bytes(token for token in tokens if token < 256).decode("utf-8", "backslashreplace"),
        folder / "tokenizer.json",
        [f"base.checkpoint={folder}/consolidated.pth", f"base.params={folder}/params.json"],
    )


def open_hugging_face(folder: Path) -> Eager:
    """Open the model and the tokenizer in a local folder."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return Eager(
        lambda tokens: model(tokens).logits,
        lambda text: tokenizer.encode(text, add_special_tokens=False),
        lambda tokens: tokenizer.decode(tokens, clean_up_tokenization_spaces=False),
        folder,
        [f"base.checkpoint={folder}"],
    )


def measure(eager: Eager, folder: Path) -> None:
    """Print speed and perplexity of eager PyTorch and of the exported programs."""
    test = eager.encode(read_text()[1].decode(errors="ignore"))[: 65 * 128]
    prompt = eager.encode(PROMPT)
    start = time.monotonic()
    expected = greedy(eager.logits_of, prompt, COUNT)
    rate = COUNT / (time.monotonic() - start)
    baseline = perplexity(eager.logits_of, test)
    print(f"eager   {rate:7.0f} tokens/s, perplexity {baseline:.3f}")
    for name, quantization in (("float32", []), ("4bits", FOUR_BITS)):
        output = [f"export.output_dir={folder}", f"export.output_name={name}"]
        program = export_llama(read_config([*eager.files, *OPTIONS, *quantization, *output]))
        method = Runtime.get().load_program(program).load_method("forward")
        found = perplexity(lambda tokens, run=method: run.execute((tokens, torch.tensor([0])))[0], test)
        text: list[str] = []
        config = GenerationConfig(echo=False, temperature=0, max_new_tokens=COUNT, ignore_eos=True)
        runner = TextLLMRunner(program, eager.tokenizer)
        runner.generate(PROMPT, config, text.append)
        rate = runner.stats.tokens_per_second
        print(f"{name} {rate:7.0f} tokens/s, perplexity {found:.3f} ({found / baseline - 1:+.2%}): {''.join(text)!r}")
        if name == "float32" and "".join(text) != eager.decode(expected):
            raise SystemExit(f"float32: expected the text of eager PyTorch, {eager.decode(expected)!r}")
        command = [LLAMA_MAIN, "--model_path", program, "--tokenizer_path", eager.tokenizer, "--prompt", PROMPT]
        command += ["--temperature=0", f"--max_new_tokens={COUNT}", "--seq_len=-1", "--ignore_eos"]
        done = subprocess.run(command, check=True, capture_output=True, encoding="utf-8", errors="backslashreplace")
        if done.stdout != PROMPT + "".join(text):
            raise SystemExit(f"llama_main: expected the text of the Python runner, found {done.stdout!r}")
        print("llama_main:", done.stderr.splitlines()[-1])


def main(argument: str = "60") -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        is_folder = Path(argument).is_dir()
        measure(open_hugging_face(Path(argument)) if is_folder else train_bytes(float(argument), folder), folder)


if __name__ == "__main__":
    main(*sys.argv[1:2])
