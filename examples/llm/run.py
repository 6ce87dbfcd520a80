# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A language model from training to tokens, float32 and in 4 bits: python examples/llm/run.py [seconds of training]."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from evaluate import greedy, perplexity
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

model = train(float(sys.argv[1]) if len(sys.argv) > 1 else 60)
test = read_text()[1]
start = time.monotonic()
expected = greedy(model, PROMPT, COUNT)
rate = COUNT / (time.monotonic() - start)
print(f"eager   {rate:7.0f} tokens/s, perplexity {perplexity(model, test):.3f}")

with tempfile.TemporaryDirectory() as temporary:
    folder = Path(temporary)
    save(model, folder)
    tokenizer = folder / "tokenizer.json"
    files = [f"base.checkpoint={folder}/consolidated.pth", f"base.params={folder}/params.json"]
    for name, quantization in (("float32", []), ("4bits", FOUR_BITS)):
        output = [f"export.output_dir={folder}", f"export.output_name={name}"]
        program = export_llama(read_config([*files, *OPTIONS, *quantization, *output]))
        method = Runtime.get().load_program(program).load_method("forward")
        found = perplexity(lambda tokens, run=method: run.execute((tokens, torch.tensor([0])))[0], test)
        text, stats = [], []
        config = GenerationConfig(echo=False, temperature=0, max_new_tokens=COUNT, ignore_eos=True)
        TextLLMRunner(program, tokenizer).generate(PROMPT, config, text.append, stats.append)
        rate = 1000 * (COUNT - 1) / max(1, stats[0].inference_end_ms - stats[0].first_token_ms)
        print(f"{name} {rate:7.0f} tokens/s, perplexity {found:.3f}: {''.join(text)!r}")
        if name == "float32":
            assert "".join(text).encode() == expected
        command = [LLAMA_MAIN, "--model_path", program, "--tokenizer_path", tokenizer, "--prompt", PROMPT]
        command += ["--temperature=0", f"--max_new_tokens={COUNT}", "--seq_len=-1", "--ignore_eos"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        assert done.stdout == PROMPT + "".join(text)
        print("llama_main:", done.stderr.splitlines()[-1])
