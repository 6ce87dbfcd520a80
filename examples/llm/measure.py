# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Exports a model in float32, 8 bits and 4 bits, and measures each beside eager PyTorch."""

import subprocess
import time
from pathlib import Path

import torch
from evaluate import greedy, perplexity
from model import read_text
from sources import Eager

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
EIGHT_BITS = ["quantization.qmode=int8", "quantization.embedding_quantize='8,0'"]
FOUR_BITS = ["quantization.qmode=8da4w", "quantization.group_size=32", "quantization.embedding_quantize='8,0'"]


def measure(eager: Eager, folder: Path) -> None:
    """Print speed and perplexity of eager PyTorch and of the exported programs."""
    test = eager.encode(read_text()[1].decode(errors="ignore"))
    prompt = eager.encode(PROMPT)
    start = time.monotonic()
    expected = greedy(eager.logits_of, prompt, COUNT)
    rate = COUNT / (time.monotonic() - start)
    baseline = perplexity(eager.logits_of, test)
    print(f"eager   {rate:7.0f} tokens/s, perplexity {baseline:.3f}")
    for name, quantization in (("float32", []), ("8bits", EIGHT_BITS), ("4bits", FOUR_BITS)):
        output = [f"export.output_dir={folder}", f"export.output_name={name}"]
        program = export_llama(read_config([*eager.files, *OPTIONS, *quantization, *output]))
        method = Runtime.get().load_program(program).load_method("forward")
        score = perplexity(lambda tokens, run=method: run.execute((tokens, torch.tensor([0])))[0], test)
        text: list[str] = []
        config = GenerationConfig(echo=False, temperature=0, max_new_tokens=COUNT, ignore_eos=True)
        runner = TextLLMRunner(program, eager.tokenizer)
        runner.generate(PROMPT, config, text.append)
        rate = runner.stats.tokens_per_second
        print(f"{name} {rate:7.0f} tokens/s, perplexity {score:.3f} ({score / baseline - 1:+.2%}): {''.join(text)!r}")
        if name == "float32" and "".join(text) != eager.decode(expected):
            raise SystemExit(f"float32: expected the text of eager PyTorch, {eager.decode(expected)!r}")
        command = [LLAMA_MAIN, "--model_path", program, "--tokenizer_path", eager.tokenizer, "--prompt", PROMPT]
        command += ["--temperature=0", f"--max_new_tokens={COUNT}", "--seq_len=-1", "--ignore_eos"]
        done = subprocess.run(command, check=True, capture_output=True, encoding="utf-8", errors="backslashreplace")
        if done.stdout != PROMPT + "".join(text):
            raise SystemExit(f"llama_main: expected the text of the Python runner, found {done.stdout!r}")
        print("llama_main:", done.stderr.splitlines()[-1])
