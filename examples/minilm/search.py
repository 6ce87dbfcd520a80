# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Finds the sentences nearest in meaning to a query, with MiniLM exported to a program."""

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from model import load_model, load_tokenizer
from tqdm import tqdm

from executorch.runtime import Runtime
from export import export_program


def main() -> None:
    """Export, embed every sentence of the file, print the best matches and their cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("query", help="what to look for")
    parser.add_argument(
        "--text", type=Path, default=Path(__file__).with_name("sentences.txt"), help="file with one sentence per line"
    )
    parser.add_argument("--program", type=Path, default=Path("minilm.pte"), help="where the program is written")
    parser.add_argument("--matches", type=int, default=5, help="how many matches to print")
    options = parser.parse_args()

    print("exporting MiniLM ...", flush=True)
    model, tokenizer = load_model(), load_tokenizer()
    written = export_program(model, options.program)

    start = time.perf_counter()
    method = Runtime.get().load_program(options.program).load_method("forward", threads=1)
    load_ms = 1e3 * (time.perf_counter() - start)

    torch.set_num_threads(1)  # like the method, for a fair comparison
    sentences = [line for line in options.text.read_text().splitlines() if line.strip()]
    vectors, ours, eager, difference = [], 0.0, 0.0, 0.0
    for sentence in tqdm([options.query, *sentences], unit="sentence", desc="embedding"):
        ids = np.array([tokenizer.encode(sentence).ids], dtype=np.int64)
        inputs = [ids, np.ones_like(ids)]
        start = time.perf_counter()
        vector = method.execute(inputs)[0]
        ours += time.perf_counter() - start
        start = time.perf_counter()
        with torch.no_grad():
            expected = model(*map(torch.from_numpy, inputs)).numpy()
        eager += time.perf_counter() - start
        difference = max(difference, float(np.abs(vector - expected).max()))
        vectors.append(vector[0])

    scores = np.stack(vectors[1:]) @ vectors[0]
    print(f"\nbest matches for {options.query!r}:")
    for index in np.argsort(-scores)[: options.matches]:
        print(f"  {scores[index]:.3f}  {sentences[index]}")
    count = len(vectors)
    print(f"\nlargest difference from eager  {difference:.2e}")
    print(f"program                        {options.program}, {options.program.stat().st_size / 1e6:.1f} MB")
    print(f"planned memory                 {written.planned / 1e6:.2f} MB")
    kept = ", ".join(f"{count} {name}" for name, count in sorted(written.kept.items())) or "nothing"
    print(f"on XNNPACK                     {written.delegates} delegates; undelegated: {kept}")
    print(f"load time                      {load_ms:.1f} ms")
    print(f"time a sentence, one thread    {1e3 * ours / count:.2f} ms (eager PyTorch: {1e3 * eager / count:.2f} ms)")


if __name__ == "__main__":
    main()
