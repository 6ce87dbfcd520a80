# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Tokenizers in C++ give the tokens of the Python packages that define their formats; broken files are refused."""

import contextlib
import random

import pytest

from executorch.extension.llm.runner import Tokenizer
from executorch.runtime.errors import InvalidArgumentError
from test.extension.llm.tokenizers.random_text import LINES
from test.extension.llm.tokenizers.references import REFERENCES, byte_ranks, compare, write_tiktoken

NAMES = sorted(REFERENCES)


@pytest.mark.parametrize("name", NAMES)
def test_random_text_is_encoded_and_decoded_as_by_the_package(name, tmp_path):
    compare(name, tmp_path, 2000)


@pytest.mark.parametrize("name", NAMES)
def test_prose_is_encoded_as_by_the_package(name, tmp_path):
    reference = REFERENCES[name](tmp_path)
    ours = Tokenizer(str(reference.path), **reference.options)
    for line in ["", " ", *LINES[:1500]]:
        assert ours.encode(line, reference.bos, reference.eos) == reference.encode(line), line


@pytest.mark.parametrize("name", NAMES)
def test_damaged_files_never_end_the_process(name, tmp_path):
    reference = REFERENCES[name](tmp_path)
    whole = reference.path.read_bytes()
    rng = random.Random(0)
    for _ in range(100):
        damaged = bytearray(whole)
        for _ in range(rng.choice([0, 1, 2, 8])):
            damaged[min(int(rng.expovariate(0.002)), len(damaged) - 1)] = rng.randrange(256)
        reference.path.write_bytes(damaged[: rng.choice([len(damaged), rng.randrange(len(damaged))])])
        with contextlib.suppress(InvalidArgumentError):
            ours = Tokenizer(str(reference.path), **reference.options)
            tokens = ours.encode("hello  wörld", 1, 1)
            ours.decode(tokens)


def refused(path, content, **options):
    path.write_bytes(content)
    with pytest.raises(InvalidArgumentError, match="cannot load"):
        Tokenizer(str(path), **options)


def test_broken_files_of_tiktoken_are_refused(tmp_path):
    ranks = byte_ranks(300)
    path = write_tiktoken(tmp_path / "tokenizer.model", ranks)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    assert Tokenizer(str(path)).vocab_size == len(ranks) + 256
    for content in (
        b"".join(lines[1:]),
        whole + b"YWI= 3\n",
        whole + lines[0].split()[0] + b" 999\n",
        whole + b"YWI 9999\n",
        whole + b"YWJjZGVmZ2g= -1\n",
        whole + b"YWJjZGVmZ2g= 99999999999\n",
        whole + b"YWJjZGVmZ2g=\n",
    ):
        refused(path, content)
    refused(path, whole, special_tokens=["<a>", "<a>"])
    refused(path, whole, special_tokens=["<a>"])
    refused(path, whole, pattern="(")
    refused(path, whole, bos_token_index=256)


def test_llama_3_special_tokens_are_the_default_of_tiktoken(tmp_path):
    ranks = byte_ranks(300)
    ours = Tokenizer(str(write_tiktoken(tmp_path / "tokenizer.model", ranks)))
    base = len(ranks)
    assert (ours.bos_tok, ours.eos_tok) == (base, base + 1)
    assert ours.encode("<|begin_of_text|><|start_header_id|><|eot_id|>") == [base, base + 6, base + 9]
    assert ours.decode([base + 255]) == "<|reserved_special_token_246|>"
    assert ours.decode([base, *b"a", base + 9], skip_special_tokens=True) == ours.decode([*b"a"])
