# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Tokenizer files whose steps, patterns, pieces or nesting would take unbounded time or memory."""

import json
import resource
import struct
import time
from pathlib import Path

import pytest

from executorch.extension.llm.runner import Tokenizer
from executorch.runtime.errors import InvalidArgumentError
from test.extension.llm.tokenizers.references import REFERENCES

VOCABULARY = {"<unk>": 0, "<s>": 1, "a": 2, "b": 3, "##a": 4, "##b": 5}
PAIRS = {"type": "BPE", "vocab": VOCABULARY, "merges": [], "unk_token": "<unk>"}
BEGIN = [{"id": 1, "content": "<s>", "special": True}]
DOUBLES = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
DOUBLES_BY_PATTERN = {"type": "Replace", "pattern": {"Regex": "a"}, "content": "aa"}
LONG = "y" * 40_000


def opened(folder, **parts):
    (folder / "tokenizer.json").write_text(json.dumps({"model": PAIRS, "added_tokens": BEGIN, **parts}))
    return Tokenizer(str(folder))


@pytest.mark.parametrize(
    "parts",
    [
        {"normalizer": {"type": "Sequence", "normalizers": [DOUBLES] * 60}},
        {"normalizer": {"type": "Sequence", "normalizers": [DOUBLES_BY_PATTERN] * 60}},
        {"normalizer": {"type": "Sequence", "normalizers": [{"type": "ByteLevel"}] * 60}},
        {"normalizer": {"type": "Replace", "pattern": {"String": "a"}, "content": "b" * 2**20}},
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel", "use_regex": False}] * 60}},
    ],
    ids=["replace", "pattern", "bytes", "long content", "bytes of words"],
)
def test_steps_that_make_too_much_of_a_text_are_refused(parts, tmp_path):
    with pytest.raises(InvalidArgumentError, match="produce too many bytes from a text"):
        opened(tmp_path, **parts).encode("a \u00e9 a")


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_combining_marks_in_the_wrong_order_are_not_exchanged_one_by_one(form, tmp_path):
    # The classes of the marks are 230 and 220: all of the second kind come first.
    above, below, count = "\u0300", "\u0323", 50_000
    vocabulary = {"<unk>": 0, "a": 1, above: 2, below: 3, "\u1ea1": 4, "\u00e0": 5}
    model = {"type": "BPE", "vocab": vocabulary, "merges": [], "unk_token": "<unk>"}
    ours = opened(tmp_path, model=model, added_tokens=[], normalizer={"type": form})
    begin = time.process_time()
    tokens = ours.encode("a" + (above + below) * count)
    assert time.process_time() - begin < 5
    first = [4, *[3] * (count - 1)] if form.endswith("C") else [1, *[3] * count]
    assert tokens == [*first, *[2] * count]


def test_added_tokens_share_one_limit_of_normalized_text(tmp_path):
    tokens = [{"id": 10 + i, "content": "a" * (i + 1), "normalized": True} for i in range(40)]
    steps = {"type": "Replace", "pattern": {"String": "a"}, "content": "b" * 1000}
    with pytest.raises(InvalidArgumentError, match="produce too many bytes from a text"):
        opened(tmp_path, normalizer=steps, added_tokens=tokens)


def test_decoders_that_make_too_much_of_a_piece_are_refused(tmp_path):
    ours = opened(tmp_path, decoder={"type": "Sequence", "decoders": [DOUBLES] * 60})
    with pytest.raises(InvalidArgumentError, match="produce too many bytes from a text"):
        ours.decode([2])


@pytest.mark.parametrize(("content", "text"), [("", "a"), ("a", "")])
def test_a_decoder_strips_at_most_the_whole_piece(content, text, tmp_path):
    decoder = {"type": "Strip", "content": content, "start": 2**63, "stop": 0}
    assert opened(tmp_path, decoder=decoder).decode([2]) == text


@pytest.mark.parametrize(
    ("decoder", "text"),
    [
        ({"type": "Replace", "pattern": {"String": "y"}, "content": "zz"}, "zz" * len(LONG)),
        ({"type": "CTC", "pad_token": "y"}, ""),
        ({"type": "Strip", "content": "y", "start": 2**40, "stop": 0}, ""),
    ],
    ids=["Replace", "CTC", "Strip"],
)
def test_long_pieces_are_decoded_in_linear_time(decoder, text, tmp_path):
    assert opened(tmp_path, model={**PAIRS, "vocab": {LONG: 0}, "unk_token": None}, decoder=decoder).decode([0]) == text


@pytest.mark.parametrize("begins", [[], [{"type": "Split", "pattern": {"Regex": "b"}, "behavior": "Removed"}]])
def test_a_pattern_that_takes_many_steps_at_each_byte_is_refused(begins, tmp_path):
    # Each match alone takes half of PCRE2's limit.
    split = {"type": "Split", "pattern": {"Regex": "(?:a|a){22}c|a"}, "behavior": "Isolated"}
    ours = opened(tmp_path, pre_tokenizer={"type": "Sequence", "pretokenizers": [*begins, split]})
    assert ours.encode("ab" * 1000)
    with pytest.raises(InvalidArgumentError, match="text cannot be matched"):
        ours.encode(("a" * 24 + "b") * 400)


@pytest.mark.parametrize("pattern", ["(?=.*)", "(?:[ab]*c|a)", "(?=a*$)a", "(?!(?:[ab]*+)c)a", "(?<=a)(?=a*+b)"])
def test_a_pattern_that_reads_all_text_at_each_byte_is_refused(pattern, tmp_path):
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated"}
    ours = opened(tmp_path, pre_tokenizer=split)
    assert ours.encode("a" * 1000)
    with pytest.raises(InvalidArgumentError, match="text cannot be matched"):
        ours.encode("a" * 200_000)


def test_a_pattern_that_takes_much_memory_at_each_step_is_refused(tmp_path):
    # Each of 5000 steps keeps the places of 5000 groups: 400 MB for a byte of text.
    split = {"type": "Split", "pattern": {"Regex": "(?:a" + "()" * 5000 + ")*(?:b|c)"}, "behavior": "Isolated"}
    ours = opened(tmp_path, pre_tokenizer=split)
    assert ours.encode("b")
    with pytest.raises(InvalidArgumentError, match="text cannot be matched"):
        ours.encode("a")


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads Linux's /proc")
def test_machine_code_of_many_patterns_has_a_limit(tmp_path):
    # Each pattern of 53 KB is 5 MB of machine code.
    split = {"type": "Split", "pattern": {"Regex": "(?:a?b?)*" * 5900}, "behavior": "Isolated"}
    before = resident_bytes()
    ours = opened(tmp_path, pre_tokenizer={"type": "Sequence", "pretokenizers": [split] * 64})
    assert resident_bytes() - before < 160 * 2**20
    assert ours.decode([2]) == "a"


def test_a_long_pattern_is_refused_before_it_takes_many_times_its_bytes(tmp_path):
    # It took 267 times its bytes before PCRE2 refused it.
    split = {"type": "Split", "pattern": {"Regex": "\\b" * 500_000}, "behavior": "Isolated"}
    with pytest.raises(InvalidArgumentError, match="a pattern has 1000000 bytes, expected at most 65536"):
        opened(tmp_path, pre_tokenizer=split)


@pytest.mark.parametrize("length", [1, 500, 513, 1023, 1025, 5000])
@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("b", "{}b", ["{}", "b"]),
        ("a+", "b{}b", ["b", "{}", "b"]),
        ("a+(?=b)", "b{}b", ["b", "{}", "b"]),
        ("a++$", "b{}b{}", ["b{}b", "{}"]),
        ("(?<=b)\\b|(?<=\u00e9)b", "\u00e9{}b", ["\u00e9{}b"]),
        ("\u00e9a*b", "\u00e9{}\u00e9{}b", ["\u00e9{}", "\u00e9{}b"]),
    ],
)
def test_matches_that_are_longer_than_a_window_are_found(pattern, text, expected, length, tmp_path):
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated"}
    long = "a" * length
    words = [word.format(*[long] * word.count("{}")) for word in expected]
    vocabulary = {**VOCABULARY, **{word: 10 + i for i, word in enumerate(dict.fromkeys(words))}}
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"}
    ours = opened(tmp_path, model=model, pre_tokenizer=split)
    assert ours.encode(text.format(*[long] * text.count("{}"))) == [vocabulary[word] for word in words]


@pytest.mark.parametrize(("pattern", "part"), [(r"\Ga", r"\\G"), (r"a+b(*SKIP)(*FAIL)|b", r"\(\*")])
def test_a_pattern_that_depends_on_where_a_search_begins_is_refused(pattern, part, tmp_path):
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Removed"}
    with pytest.raises(InvalidArgumentError, match=f"has {part}.*, which is not supported"):
        opened(tmp_path, pre_tokenizer=split)


@pytest.mark.parametrize("pattern", [r"\C", r"^\C", r"(?:a|\C)"])
def test_a_pattern_that_divides_characters_is_refused(pattern, tmp_path):
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Removed"}
    with pytest.raises(InvalidArgumentError, match="is not a valid pattern"):
        opened(tmp_path, pre_tokenizer=split)


@pytest.mark.parametrize("part", ["continuing_subword_prefix", "end_of_word_suffix"])
def test_a_prefix_that_every_character_repeats_is_short(part, tmp_path):
    bytes_ = {f"<0x{byte:02X}>": 10 + byte for byte in range(256)}
    model = {**PAIRS, "vocab": {**VOCABULARY, **bytes_}, "byte_fallback": True}
    assert opened(tmp_path, model={**model, part: "#" * 64}).encode("cc")[-1] in bytes_.values()
    with pytest.raises(InvalidArgumentError, match="at most 64 bytes"):
        opened(tmp_path, model={**model, part: "#" * 65})


def test_a_template_that_repeats_a_list_of_tokens_is_refused(tmp_path):
    name = {"SpecialToken": {"id": "x"}}
    processor = {"type": "TemplateProcessing", "special_tokens": {"x": {"ids": [1] * 128}}}
    text = {"Sequence": {"id": "A"}}
    around = opened(tmp_path, post_processor={**processor, "single": [name, name, text, name]})
    assert around.encode("a", bos=1, eos=1) == [1] * 256 + [2] + [1] * 128
    with pytest.raises(InvalidArgumentError, match="at most 256 tokens before and after a text"):
        opened(tmp_path, post_processor={**processor, "single": [name] * 3 + [text]})


@pytest.mark.parametrize(
    ("part", "sequence", "step"),
    [
        ("normalizer", "normalizers", {"type": "NFC"}),
        ("pre_tokenizer", "pretokenizers", {"type": "Punctuation"}),
        ("post_processor", "processors", {"type": "ByteLevel"}),
        ("decoder", "decoders", {"type": "Fuse"}),
    ],
)
def test_steps_beyond_the_limit_are_refused(part, sequence, step, tmp_path):
    steps = {"type": "Sequence", sequence: [step] * 256}
    assert opened(tmp_path, **{part: steps}).encode("a") == [2]
    with pytest.raises(InvalidArgumentError, match=f"{part}: expected at most 256 steps"):
        opened(tmp_path, **{part: {"type": "Sequence", sequence: [steps, step]}})


def test_long_words_are_divided_into_word_pieces_in_linear_time(tmp_path):
    model = {"type": "WordPiece", "vocab": VOCABULARY, "unk_token": "<unk>", "max_input_chars_per_word": 2**40}
    ours = opened(tmp_path, model=model)
    assert ours.encode("a" * 50_000) == [2] + [4] * 49_999
    assert ours.encode("a" * 50_000 + "c") == [0]


def test_text_that_nearly_is_a_long_piece_is_searched_in_blocks(tmp_path):
    ours = opened(tmp_path, added_tokens=[*BEGIN, {"id": 9, "content": LONG}, {"id": 10, "content": LONG + "x"}])
    assert ours.encode(LONG + "x" + LONG + "a") == [10, 9, 2]
    assert ours.encode("y" * (len(LONG) - 1)) == [0] * (len(LONG) - 1)


@pytest.mark.parametrize(
    "parts",
    [
        {"model": {**PAIRS, "vocab": {"y" * 2**17: 0}}},
        {"model": {"type": "Unigram", "vocab": [["y" * 2**17, 0.0]]}},
        {"added_tokens": [{"id": 9, "content": "y" * 2**17}]},
    ],
    ids=["BPE", "Unigram", "added"],
)
def test_pieces_beyond_the_limit_are_refused(parts, tmp_path):
    with pytest.raises(InvalidArgumentError, match="cannot load"):
        opened(tmp_path, **parts)


@pytest.mark.parametrize(
    "text",
    ['{"a":' + "[" * 10**6, '{"a":' + '{"b":' * 10**6, '{"\\\\":' + "[" * 65 + "]" * 65 + "}"],
    ids=["lists", "objects", "behind a string"],
)
def test_deeply_nested_json_is_refused_before_it_is_parsed(text, tmp_path):
    (tmp_path / "tokenizer.json").write_text(text)
    with pytest.raises(InvalidArgumentError, match="nested"):
        Tokenizer(str(tmp_path))


def test_brackets_in_strings_do_not_nest(tmp_path):
    vocabulary = {**VOCABULARY, '"[\\"' * 100: 6, "{[" * 100: 7, "\\": 8}
    assert opened(tmp_path, model={**PAIRS, "vocab": vocabulary}).encode("\\") == [8]


def _sentences_with_map(folder, units, texts):
    """A model of sentencepiece whose map has these units and texts."""
    trie = struct.pack(f"<{len(units)}I", *units)
    blob = struct.pack("<I", len(trie)) + trie + texts

    def field(number, content):
        size = len(content)
        length = b""
        while size >= 0x80:
            length += bytes([size & 0x7F | 0x80])
            size >>= 7
        return bytes([number << 3 | 2]) + length + bytes([size]) + content

    pieces = field(1, field(1, b"<unk>") + b"\x18\x02") + field(1, field(1, b"a"))
    path = folder / "tokenizer.model"
    path.write_bytes(pieces + field(3, field(2, blob)))
    return Tokenizer(str(path))


def _unit(label, offset, *, has_leaf=False):
    return offset << 10 | int(has_leaf) << 8 | label


def test_a_map_that_makes_too_much_of_a_text_is_refused(tmp_path):
    units = [0] * 256
    units[0] = _unit(0, 1)
    units[1 ^ ord("a")] = _unit(ord("a"), 1 ^ ord("a") ^ 2, has_leaf=True)
    units[2] = 1 << 31
    assert _sentences_with_map(tmp_path, units, b"aa\0").encode("a") != []
    with pytest.raises(InvalidArgumentError, match="produce too many bytes from a text"):
        _sentences_with_map(tmp_path, units, b"a" * 2**20 + b"\0").encode("a" * 100)


def test_a_map_with_a_loop_has_keys_of_limited_length(tmp_path):
    units = [0] * 256
    units[0] = _unit(0, 1)
    units[1 ^ ord("a")] = _unit(ord("a"), ord("a"))  # back to the node before
    assert len(_sentences_with_map(tmp_path, units, b"\0").encode("a" * 50_000)) == 50_001


def test_long_pieces_of_llama2c_are_refused(tmp_path):
    # Text without pieces of its own becomes pieces by number, whose joined texts are searched for.
    pieces = b"".join(struct.pack("<fi", 0.0, len(piece)) + piece for piece in [b"a", b"b", b"c", b"y" * 2**17])
    (tmp_path / "tokenizer.bin").write_bytes(struct.pack("<iiii", 4, 1, 2, 1) + pieces)
    with pytest.raises(InvalidArgumentError, match="piece 3 is broken"):
        Tokenizer(str(tmp_path / "tokenizer.bin"))


def test_the_limits_leave_published_files_alone(tmp_path):
    reference = REFERENCES["Unigram as T5"](tmp_path)
    text = "\ufdfa" * 5_000  # NFKC expands each to 33 bytes
    assert reference.path.exists()
    assert Tokenizer(str(reference.path)).encode(text)


def test_ids_that_are_multiples_of_one_prime_open_in_linear_time(tmp_path):
    pieces = {f"t{i}": i * 42_043 for i in range(40_000)}
    model = {"type": "WordLevel", "vocab": pieces, "unk_token": "t0"}
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": model}))
    ours = Tokenizer(str(tmp_path))
    assert ours.encode("t39999") == [39_999 * 42_043]
    assert ours.decode([0, 42_043]).split() == ["t0", "t1"]
