# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Tokenizers in C++ give the tokens of the Python packages that define their formats; broken files are refused."""

import contextlib
import json
import random
import struct

import pytest
import sentencepiece
import tiktoken

from executorch.extension.llm.runner import Tokenizer
from executorch.runtime.errors import InvalidArgumentError
from test.extension.llm.tokenizers.random_text import LINES
from test.extension.llm.tokenizers.references import (
    HUGGING_FACES,
    REFERENCES,
    SENTENCEPIECES,
    byte_ranks,
    compare,
    sentencepiece_model,
    write_tekken,
    write_tiktoken,
)

NAMES = sorted(REFERENCES)


@pytest.mark.sampled
@pytest.mark.parametrize("name", NAMES)
def test_random_text_is_encoded_and_decoded_as_by_the_package(name, tmp_path):
    compare(name, tmp_path, 2000)


@pytest.mark.sampled
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


def test_anchors_of_tiktoken_match_at_the_ends_of_the_text_alone(tmp_path):
    ranks, pattern = byte_ranks(900), r"^\w+|\w+$|\s|\w"
    reference = tiktoken.Encoding("test", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    ours = Tokenizer(str(write_tiktoken(tmp_path / "tokenizer.model", ranks)), pattern=pattern)
    for text in ("in", "in\nin", "in in\n", "\nin in", "in in in"):
        assert ours.encode(text) == reference.encode(text), text


def test_llama_3_special_tokens_are_the_default_of_tiktoken(tmp_path):
    ranks = byte_ranks(300)
    ours = Tokenizer(str(write_tiktoken(tmp_path / "tokenizer.model", ranks)))
    base = len(ranks)
    assert (ours.bos_tok, ours.eos_tok) == (base, base + 1)
    assert ours.encode("<|begin_of_text|><|start_header_id|><|eot_id|>") == [base, base + 6, base + 9]
    assert ours.decode([base + 255]) == "<|reserved_special_token_246|>"
    assert ours.decode([base, *b"a", base + 9], skip_special_tokens=True) == ours.decode([*b"a"])


def message(*fields):
    """A protobuf message of numbers, texts and messages: pairs of field and value."""
    document = b""
    for number, value in fields:
        if isinstance(value, int):
            document += varint(number << 3) + varint(value)
        elif isinstance(value, float):
            document += varint(number << 3 | 5) + struct.pack("<f", value)
        else:
            document += varint(number << 3 | 2) + varint(len(value)) + value
    return document


def varint(value):
    document = b""
    while value > 127:
        document += bytes([value & 127 | 128])
        value >>= 7
    return document + bytes([value])


def model_of(*pieces, trainer=b"", normalizer=b""):
    written = [(1, message((1, text), (2, score), (3, kind))) for text, score, kind in pieces]
    return message(*written, (2, trainer), (3, normalizer))


NORMAL, UNKNOWN, CONTROL, UNUSED, BYTE = 1, 2, 3, 5, 6
UNK = (b"<unk>", 0.0, UNKNOWN)


def test_unused_pieces_of_bpe_are_divided_again(tmp_path):
    path = tmp_path / "tokenizer.model"
    pieces = [UNK, (b"a", -1.0, NORMAL), (b"b", -2.0, NORMAL), (b"ab", -3.0, UNUSED), (b"aba", -4.0, NORMAL)]
    options = {"trainer": message((3, 2)), "normalizer": message((3, 0))}
    path.write_bytes(model_of(*pieces, **options))
    reference = sentencepiece.SentencePieceProcessor(model_file=str(path))
    ours = Tokenizer(str(path))
    for text in ("ab", "aba", "abab", "ababa", "cab", "cc a b"):
        assert ours.encode(text) == reference.encode(text)


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("sentencepiece")])
def test_rounding_decides_between_equally_likely_divisions_as_in_the_package(name, tmp_path):
    reference = REFERENCES[name](tmp_path)
    ours = Tokenizer(str(reference.path), **reference.options)
    rng = random.Random(3)
    parts = [
        "---",
        "--",
        "-",
        "==",
        "`",
        ",",
        ".",
        " ",
        "torch",
        "memory",
        "is",
        "\uf371",
        "export",
        "foo bar",
        "<sep>",
    ]
    for _ in range(3000):
        text = "".join(rng.choice(parts) for _ in range(rng.randint(1, 9)))
        assert ours.encode(text, reference.bos, reference.eos) == reference.encode(text), text


def test_broken_models_of_sentencepiece_are_refused(tmp_path):
    path = tmp_path / "tokenizer.model"
    a = (b"a", -1.0, NORMAL)
    path.write_bytes(model_of(UNK, a))
    Tokenizer(str(path))
    for content in (
        model_of(a),
        model_of(UNK, UNK),
        model_of(UNK, a, a),
        model_of(UNK, (b"", 0.0, NORMAL)),
        model_of(UNK, (b"a", float("nan"), NORMAL)),
        model_of(UNK, (b"a", 0.0, 9)),
        model_of(UNK, (b"<0x00>", 0.0, BYTE)),
        model_of(UNK, (b"<0xZZ>", 0.0, BYTE)),
        model_of(UNK, a, trainer=message((35, 1))),
        model_of(UNK, a, trainer=message((3, 3))),
        model_of(UNK, a, trainer=message((3, b"text"))),
        model_of(UNK, a, normalizer=message((2, struct.pack("<I", 4096) + bytes(8)))),
        model_of(UNK, a) + b"\x0a\xff\xff\xff\xff\x0f",
        model_of(UNK, a) + b"\x80" * 20,
    ):
        refused(path, content)


def test_models_with_any_trie_are_read_within_their_bounds(tmp_path):
    path = tmp_path / "tokenizer.model"
    rng = random.Random(1)
    for _ in range(200):
        units = struct.pack(
            "<8I", *(rng.getrandbits(32) if rng.random() < 0.5 else rng.getrandbits(12) for _ in range(8))
        )
        path.write_bytes(model_of(UNK, normalizer=message((2, struct.pack("<I", 32) + units + b"text"))))
        Tokenizer(str(path)).encode("".join(map(chr, range(1, 128))))


def test_models_without_a_token_that_begins_texts_refuse_to_add_one(tmp_path):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(model_of(UNK, (b"</s>", 0.0, CONTROL), (b"a", -1.0, NORMAL)))
    ours = Tokenizer(str(path))
    assert ours.encode("a", 0, 1)[-1] == 1
    with pytest.raises(InvalidArgumentError, match="cannot be encoded"):
        ours.encode("a", 1, 0)


def test_sentencepiece_decodes_control_unknown_and_byte_pieces(tmp_path):
    path = tmp_path / "tokenizer.model"
    for name in SENTENCEPIECES:
        path.write_bytes(sentencepiece_model(name))
        reference = sentencepiece.SentencePieceProcessor(model_file=str(path))
        ours = Tokenizer(str(path))
        for token in range(3, ours.vocab_size):
            assert ours.decode([reference.bos_id(), token]).lstrip() == reference.decode([token]).lstrip()
        assert ours.decode([reference.bos_id(), reference.unk_id()]) == reference.decode([reference.unk_id()])


def test_files_of_tekken_without_special_tokens_have_those_of_version_3(tmp_path):
    path = write_tekken(tmp_path / "tekken.json", byte_ranks(400), None, 30)
    ours = Tokenizer(str(tmp_path))
    assert (ours.bos_tok, ours.eos_tok, ours.vocab_size) == (1, 2, 400 - 40 + 30)
    assert ours.encode("[INST]<SPECIAL_29>") == [3, 29]
    assert ours.decode([9, 14]) == "[TOOL_CALLS]<SPECIAL_14>"
    assert path.exists()


def test_broken_files_of_tekken_are_refused(tmp_path):
    path = write_tekken(tmp_path / "tekken.json", byte_ranks(400), {"<s>": 0, "</s>": 1}, 3)
    Tokenizer(str(path))

    def changed(change):
        content = json.loads(path.read_text())
        change(content)
        refused(tmp_path / "broken.json", json.dumps(content).encode())

    changed(lambda file: file["vocab"].pop(5))
    changed(lambda file: file["vocab"][5].update(rank=6))
    changed(lambda file: file["vocab"][5].update(rank="5"))
    changed(lambda file: file["vocab"][300].update(token_bytes=file["vocab"][5]["token_bytes"]))
    changed(lambda file: file["vocab"][5].update(token_bytes="A"))
    changed(lambda file: file["config"].update(default_vocab_size=10**6))
    changed(lambda file: file["config"].update(default_vocab_size=-1))
    changed(lambda file: file["config"].update(default_num_special_tokens=10**9, default_vocab_size=2 * 10**9))
    changed(lambda file: file["config"].update(pattern="("))
    changed(lambda file: file.update(special_tokens=[{"rank": 7, "token_str": "<s>"}]))
    changed(lambda file: file.update(special_tokens=[{"rank": 0, "token_str": "<s>"}] * 2))
    changed(lambda file: file.update(special_tokens=[{"rank": 0, "token_str": "<s>"}]))
    changed(lambda file: file.update(special_tokens={}))


@pytest.mark.parametrize("name", sorted(HUGGING_FACES))
def test_tokens_of_prose_are_decoded_to_the_text_of_the_package(name, tmp_path):
    path = tmp_path / "tokenizer.json"
    reference = HUGGING_FACES[name]()
    reference.save(str(path))
    ours = Tokenizer(str(path))
    for line in LINES[:500]:
        tokens = reference.encode(line).ids
        if reference.token_to_id("[UNK]") in tokens:
            continue  # the package drops it before it joins words; a stream has its space already
        assert ours.decode(tokens, skip_special_tokens=True) == reference.decode(tokens), line


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("WordPiece", lambda file: file["model"].update(unk_token="nowhere")),
        ("WordPiece", lambda file: file["post_processor"]["special_tokens"].clear()),
        ("WordPiece", lambda file: file["post_processor"].update(single=[])),
        ("WordPiece", lambda file: file["post_processor"]["special_tokens"]["[CLS]"].update(ids=[10**6])),
        ("WordPiece", lambda file: file.update(post_processor={"type": "Unheard"})),
        ("WordPiece, cased", lambda file: file["post_processor"].update(cls=["[CLS]"])),
        ("Unigram as T5", lambda file: file["model"].update(unk_id=10**6)),
        ("Unigram as T5", lambda file: file["model"].update(vocab=[])),
        ("Unigram as T5", lambda file: file["model"]["vocab"][5].pop()),
        ("Unigram as T5", lambda file: file["normalizer"]["normalizers"][0].update(precompiled_charsmap="AAAA")),
        ("Unigram as T5", lambda file: file["pre_tokenizer"].update(prepend_scheme="sometimes")),
        ("Unigram as T5", lambda file: file["pre_tokenizer"].update(replacement="")),
        ("Unigram as T5", lambda file: file["pre_tokenizer"].update(replacement="▁▁")),
        ("Unigram as T5", lambda file: file["decoder"].update(replacement="ab")),
    ],
)
def test_broken_parts_of_tokenizer_json_are_refused(name, change, tmp_path):
    reference = REFERENCES[name](tmp_path)
    content = json.loads(reference.path.read_text())
    change(content)
    refused(tmp_path / "broken.json", json.dumps(content).encode())


def test_a_unigram_model_without_an_unknown_piece_refuses_unknown_text(tmp_path):
    model = {"type": "Unigram", "unk_id": None, "vocab": [["a", -1.0], ["b", -2.0]]}
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": model}))
    ours = Tokenizer(str(tmp_path))
    assert ours.encode("abba") == [0, 1, 1, 0]
    with pytest.raises(InvalidArgumentError, match="cannot be encoded"):
        ours.encode("abc")
