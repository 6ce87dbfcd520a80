# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A language model from training to tokens: float32 and 4 bits, in Python and by the program llama_main.

python examples/llm/run.py [--seconds 45] [--llama-main path]

Trains a small decoder on text that Python bundles, exports it twice, and prints tokens per second and perplexity beside
eager PyTorch. Greedy text of the float32 program is eager's own.
"""

import argparse
import math
import subprocess
import tempfile
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from model import BOS, EOS, read_text, save, train

import executorch.extension
from executorch.examples.models.llama.export_llama_lib import export_llama
from executorch.extension.llm.export.export_llm import read_config
from executorch.extension.llm.runner import GenerationConfig, TextLLMRunner
from executorch.runtime import Runtime

CONTEXT = 384
PROMPT = "The value of the expression is "
QUANTIZATIONS = {
    "float32": [],
    "4 bits": ["quantization.qmode=8da4w", "quantization.group_size=32", "quantization.embedding_quantize='8,0'"],
}


def perplexity(logits_of, text: bytes) -> float:
    """Of a byte, over pieces of text of 128 bytes; logits_of(tokens) has a row for each."""
    total = count = 0
    for start in range(0, min(len(text), 64 * 128) - 128, 128):
        tokens = torch.tensor([list(text[start : start + 129])])
        with torch.no_grad():
            logits = logits_of(tokens[:, :-1])
        total += float(F.cross_entropy(logits[0], tokens[0, 1:], reduction="sum"))
        count += 128
    return math.exp(total / count)


def greedy(model, prompt: str, count: int) -> bytes:
    """What eager PyTorch generates."""
    tokens = list(prompt.encode())
    made = []
    with torch.no_grad():
        for _ in range(count):
            token = int(model(torch.tensor([tokens + made]))[0, -1].argmax())
            made.append(token)
            if token == EOS:
                break
    return bytes(token for token in made if token < 256)


def export(folder: Path, name: str) -> Path:
    """The program of the checkpoint in the folder."""
    arguments = [
        f"base.checkpoint={folder / 'consolidated.pth'}", f"base.params={folder / 'params.json'}",
        "base.metadata='{" + f'"get_bos_id": {BOS}, "get_eos_ids": [{EOS}]' + "}'",
        "model.use_kv_cache=True", "model.use_sdpa_with_kv_cache=True", "backend.xnnpack.enabled=True",
        "export.max_seq_length=128", f"export.max_context_length={CONTEXT}", "debug.generate_full_logits=True",
        f"export.output_dir={folder}", f"export.output_name={name.replace(' ', '_')}", *QUANTIZATIONS[name],
    ]  # fmt: skip
    return Path(export_llama(read_config(arguments)))


def generate(program: Path, tokenizer: Path, count: int) -> tuple[str, float]:
    """Greedy text behind the prompt, and tokens a second."""
    runner = TextLLMRunner(program, tokenizer)
    pieces, rates = [], []
    config = GenerationConfig(echo=False, temperature=0, max_new_tokens=count)
    runner.generate(
        PROMPT, config, pieces.append,
        lambda s: rates.append(1000 * (s.num_generated_tokens - 1) / max(1, s.inference_end_ms - s.first_token_ms)),
    )  # fmt: skip
    return "".join(pieces), rates[0]


def main() -> None:
    """Runs the example."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=45)
    installed = Path(next(iter(executorch.extension.__path__))).parent / "data" / "bin" / "llama_main"
    parser.add_argument("--llama-main", type=Path, default=installed)
    options = parser.parse_args()
    model = train(options.seconds)
    test = read_text()[1]
    eager = perplexity(model, test)
    start = time.monotonic()
    expected = greedy(model, PROMPT, 90)
    rate = 90 / (time.monotonic() - start)
    print(f"eager    {rate:8.0f} tokens/s, perplexity {eager:.3f}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        save(model, folder)
        for name, limit in (("float32", 1.001), ("4 bits", 1.1)):
            program = export(folder, name)
            method = Runtime.get().load_program(program).load_method("forward")
            found = perplexity(lambda tokens: method.execute((tokens, torch.tensor([0])))[0], test)
            text, rate = generate(program, folder / "tokenizer.json", 90)
            size = program.stat().st_size / 1e6
            print(f"{name:8} {rate:8.0f} tokens/s, perplexity {found:.3f}, {size:.1f} MB: {text!r}")
            assert found < limit * eager, f"perplexity {found} against {eager}"
            if name == "float32":
                assert text.encode().startswith(expected[:80]), f"eager generates {expected!r}"
            command = [
                options.llama_main, f"--model_path={program}", f"--tokenizer_path={folder / 'tokenizer.json'}",
                f"--prompt={PROMPT}", "--temperature=0", "--max_new_tokens=90", "--seq_len=-1",
            ]  # fmt: skip
            done = subprocess.run(command, check=True, capture_output=True)
            assert done.stdout == (PROMPT + text).encode(), done.stdout
            print("llama_main:", done.stderr.decode().strip().splitlines()[-1])


if __name__ == "__main__":
    main()
