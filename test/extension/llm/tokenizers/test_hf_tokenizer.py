# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decoders, options and damaged files of tokenizer.json, against the package `tokenizers`."""

import contextlib
import json
import random
import struct

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from executorch.extension.llm.runner import Tokenizer as Ours
from executorch.runtime.errors import InvalidArgumentError
from test.extension.llm.tokenizers.byte_pair_kinds import SENTENCES, trained

WORDS_OF_CTC = ["<pad>", "<s>", "</s>", "|", "a", "b", "n't", " .", "<pad>c"]


def _of_pieces(pieces, decoder, folder):
    """The package's tokenizer of whole words and ours of the same file. The first word stands for unknown ones."""
    reference = Tokenizer(models.WordLevel({piece: i for i, piece in enumerate(pieces)}, unk_token=pieces[0]))
    reference.decoder = decoder
    reference.save(str(folder / "tokenizer.json"))
    return reference, Ours(str(folder))


@pytest.mark.parametrize(
    ("pieces", "decoder"),
    [
        (["<unk>", "he", "llo</w>", "wor", "ld</w>", "</w>", "x"], decoders.BPEDecoder()),
        (["<unk>", "heE", "lloE", "worE", "l"], decoders.BPEDecoder("E")),
        (WORDS_OF_CTC, decoders.CTC()),
        (WORDS_OF_CTC, decoders.CTC("a", "b", False)),
    ],
)
def test_decoders_of_words_give_the_text_of_the_package(pieces, decoder, tmp_path):
    reference, ours = _of_pieces(pieces, decoder, tmp_path)
    rng = random.Random(2)
    for _ in range(300):
        tokens = [rng.randrange(1, len(pieces)) for _ in range(rng.randint(1, 9))]
        assert ours.decode(tokens) == reference.decode(tokens, skip_special_tokens=False), tokens


PIECES_OF_TEXTS = ["<s>", "</s>", "[UNK]", "▁", "▁a", "a", "##a", "▁▁b", " c", "Ġd", "<0x61>", "n't", "'", ".", "##"]
DECODERS_OF_TEXTS = {
    "none": None,
    "WordPiece": decoders.WordPiece("##"),
    "WordPiece without cleanup": decoders.WordPiece("##", False),
    "Metaspace": decoders.Metaspace(),
    "Metaspace without a prefix": decoders.Metaspace(prepend_scheme="never"),
    "bytes": decoders.ByteLevel(),
    "sentences": SENTENCES,
    "starts of pieces": decoders.Strip("#", 2, 0),
    "ends of pieces, then a text": decoders.Sequence(
        [decoders.Strip("▁", 0, 1), decoders.Fuse(), decoders.Strip("b", 1, 0)]
    ),
}


@pytest.mark.parametrize("has_bos", [False, True])
@pytest.mark.parametrize("name", sorted(DECODERS_OF_TEXTS))
def test_texts_with_and_without_special_tokens_are_decoded_as_by_the_package(name, has_bos, tmp_path):
    reference = Tokenizer(models.WordLevel({piece: i for i, piece in enumerate(PIECES_OF_TEXTS)}, unk_token="[UNK]"))
    if DECODERS_OF_TEXTS[name] is not None:
        reference.decoder = DECODERS_OF_TEXTS[name]
    reference.add_special_tokens([AddedToken(token, special=True) for token in PIECES_OF_TEXTS[:3]])
    reference.save(str(tmp_path / "tokenizer.json"))
    if has_bos:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"bos_token": "<s>", "eos_token": "</s>"}))
    ours = Ours(str(tmp_path))
    rng = random.Random(name)
    for _ in range(1000):
        tokens = [rng.randrange(len(PIECES_OF_TEXTS)) for _ in range(rng.randint(0, 5))]
        for skips in (False, True):
            assert ours.decode(tokens, skips) == reference.decode(tokens, skip_special_tokens=skips), (tokens, skips)


def test_each_token_of_an_invalid_utf8_sequence_becomes_a_replacement_character(tmp_path):
    pieces = ["<unk>", "a", "▁b", *(f"<0x{byte:02X}>" for byte in (0x20, 0x41, 0x9F, 0xA9, 0xC3, 0xF0, 0xFF))]
    reference, ours = _of_pieces(pieces, SENTENCES, tmp_path)
    rng = random.Random(0)
    for _ in range(2000):
        tokens = [rng.randrange(1, len(pieces)) for _ in range(rng.randint(0, 6))]
        assert ours.decode(tokens) == reference.decode(tokens), [pieces[token] for token in tokens]


@pytest.mark.parametrize("normalized", [False, True])
def test_white_space_that_an_added_token_strips_may_hold_other_tokens(normalized, tmp_path):
    letters = {letter: i for i, letter in enumerate("ab <>lrbo\n")}
    reference = Tokenizer(models.BPE(letters, []))
    sides = {"<l>": (True, False), "<r>": (False, True), "<b>": (True, True), "  ": (False, False), "\n": (True, True)}
    for content, (left, right) in sides.items():
        reference.add_tokens([AddedToken(content, lstrip=left, rstrip=right, normalized=normalized)])
    reference.save(str(tmp_path / "tokenizer.json"))
    ours = Ours(str(tmp_path))
    rng = random.Random(1)
    for _ in range(2000):
        text = "".join(rng.choice([*sides, "a", "b", " ", "   "]) for _ in range(rng.randint(0, 9)))
        assert list(ours.encode(text)) == reference.encode(text).ids, text


def test_added_tokens_strip_white_space_in_linear_time(tmp_path):
    reference = Tokenizer(models.BPE({"a": 0}, []))
    reference.add_tokens([AddedToken(" ", rstrip=True)])
    reference.save(str(tmp_path / "tokenizer.json"))
    assert len(Ours(str(tmp_path)).encode(" " * 1_000_000)) == 1_000_000  # the squared length would take hours


def _check_words(divided, text, folder, normalizer=None):
    """Compare the words of a text with the package's; each has a token of its own."""
    reference = Tokenizer(models.WordLevel({}, unk_token="[UNK]"))
    if normalizer is not None:
        reference.normalizer = normalizer
    reference.pre_tokenizer = divided
    normalized = text if normalizer is None else normalizer.normalize_str(text)
    words = {word for word, _ in divided.pre_tokenize_str(normalized)}
    reference.model = models.WordLevel({word: i for i, word in enumerate(["[UNK]", *sorted(words)])}, "[UNK]")
    reference.save(str(folder / "tokenizer.json"))
    assert list(Ours(str(folder)).encode(text)) == reference.encode(text).ids


# Letters, numbers of all kinds, an alphabetic symbol, marks, connectors, a joiner and spaces.
CLASSES = "aÉ①bⒶ\u0345d\u0301_‿²٣Ⅳ\u200d-+ \u180e\u2028ﬁ\u0903x"


@pytest.mark.parametrize(
    "pattern",
    [
        r"\w+",
        r"\W+",
        r"[\w-]+",
        r"[^\W\d_]+",
        r"[^\w\s]+",
        r"\s+",
        r"\d+",
        r"\bd|x\b",
        r"a\B\w",
        r"[[:space:]]+|[]a]|[[:word:]]",
        r"\\w",
    ],
)
def test_classes_of_characters_are_those_of_the_package(pattern, tmp_path):
    # [^\W] lacks alphabetic symbols, as a comment in regex.cpp says.
    text = CLASSES.replace("Ⓐ", "") if r"[^\W" in pattern else CLASSES
    _check_words(pre_tokenizers.Split(Regex(pattern), "isolated"), text * 2, tmp_path)


BEHAVIORS = ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous")
EMPTY = [r"(?=(\d{3})+(?!\d))", "(?=[A-Z])", "a*", "x?", r"\b", "|b", "$", "^", r"(?<=\s)|B", r"(?!\S)"]


@pytest.mark.parametrize("pattern", EMPTY)
def test_empty_matches_divide_and_replace_as_in_the_package(pattern, tmp_path):
    text = "aabAB 1234567é\n xaXé12 "
    for behavior in BEHAVIORS:
        for invert in (False, True):
            _check_words(pre_tokenizers.Split(Regex(pattern), behavior, invert), text, tmp_path)
    replaced = normalizers.Replace(Regex(pattern), "-")
    for normalized in ("", "é", "baa", text):
        _check_words(pre_tokenizers.Punctuation(), normalized, tmp_path, replaced)


LETTERS = {"[UNK]": 0, "a": 1, "b": 2, "##a": 3, "##b": 4}
MODELS_OF_LETTERS = {
    "BPE": models.BPE(LETTERS, [], unk_token="[UNK]", ignore_merges=True),
    "Unigram": models.Unigram([("[UNK]", 0.0), ("a", -1.0), ("b", -2.0)], 0),
    "WordPiece": models.WordPiece(LETTERS, unk_token="[UNK]"),
    "WordLevel": models.WordLevel(LETTERS, unk_token="[UNK]"),
}


@pytest.mark.parametrize("name", sorted(MODELS_OF_LETTERS))
def test_a_word_is_never_an_added_token_that_the_text_does_not_have(name, tmp_path):
    reference = Tokenizer(MODELS_OF_LETTERS[name])
    reference.pre_tokenizer = pre_tokenizers.CharDelimiterSplit("-")
    reference.add_tokens([AddedToken("ab", single_word=True), AddedToken("q", single_word=True)])
    reference.save(str(tmp_path / "tokenizer.json"))
    ours = Ours(str(tmp_path))
    for text in ("ab", "q", "ab-a", "abb", "b_-ab-_a", "ab_-q_", "_ab-q", "q-qa"):
        assert ours.encode(text) == reference.encode(text).ids, text
    for separated in ("ab\u0301-ab", "\u203fab-", "q\u200d-q"):
        assert ours.encode(separated) == reference.encode(separated).ids, separated


@pytest.mark.parametrize("length", [1, 3, 1001])
def test_words_of_a_fixed_length_are_those_of_the_reference(length, tmp_path):
    reference = trained("GPT-2", tmp_path)
    bytes_of_words = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    reference.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.FixedLength(length), bytes_of_words])
    reference.save(str(tmp_path / "tokenizer.json"))
    ours = Ours(str(tmp_path))
    for text in ("", "\n", "the documentation\r\nof the runtime", "aé漢\U0001f600" * 5, "the runtime " * 200):
        assert ours.encode(text) == reference.encode(text, add_special_tokens=False).ids, text


@pytest.mark.parametrize("dropout", [0.0, 0.4, 1.0])
def test_dropout_skips_merges_and_keeps_the_text(dropout, tmp_path):
    reference = trained("GPT-2", tmp_path)
    whole = reference.encode("the documentation of the runtime", add_special_tokens=False).ids
    reference.model.dropout = dropout
    reference.save(str(tmp_path / "tokenizer.json"))
    ours = Ours(str(tmp_path))
    lengths = set()
    for _ in range(40):
        tokens = ours.encode("the documentation of the runtime")
        assert ours.decode(tokens) == "the documentation of the runtime"
        lengths.add(len(tokens))
    if dropout == 0:
        assert lengths == {len(whole)}
    elif dropout == 1:
        assert lengths == {len("the documentation of the runtime")}
    else:
        assert len(lengths) > 3


def test_long_words_do_not_take_quadratic_time(tmp_path):
    reference = trained("GPT-2", tmp_path)
    text = "ab" * 50_000
    assert Ours(str(tmp_path)).encode(text) == reference.encode(text, add_special_tokens=False).ids
    # As many merges are skipped before one happens as there are characters.
    reference.model.dropout = 0.99995
    reference.save(str(tmp_path / "tokenizer.json"))
    ours = Ours(str(tmp_path))
    assert ours.decode(ours.encode(2 * text)) == 2 * text


OF_BYTES = '"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}'
STRIPPED = '{"type":"Strip","content":" ","start":%d,"stop":%d}'
FUSED = '"decoder":{"type":"Sequence","decoders":[{"type":"Fuse"},' + STRIPPED + "]}"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"type":"BPE"', '"type":"Lattice"'),
        ('"vocab":{', '"vocab":{"a new piece":-1,'),
        ('"merges":[', '"merges":[["q","no such piece"],'),
        ('"type":"ByteLevel"', '"type":"Unheard"'),
        ('"type":"ByteLevel"', '"type":"FixedLength"'),
        ('"type":"ByteLevel"', '"type":"FixedLength","length":0'),
        ('"id":1', '"id":99999999999'),
        ('"dropout":null', '"dropout":1.5'),
        (OF_BYTES, FUSED % (2, 0)),
        (OF_BYTES, FUSED % (1, 1)),
        (OF_BYTES, '"decoder":{"type":"Strip","content":" ","start":-1,"stop":0}'),
    ],
)
def test_files_that_are_not_supported_are_refused(old, new, tmp_path):
    text = trained("GPT-2", tmp_path).to_str()
    assert old in text
    (tmp_path / "tokenizer.json").write_text(text.replace(old, new, 1))
    with pytest.raises(InvalidArgumentError, match="cannot load"):
        Ours(str(tmp_path))


def test_damaged_files_never_end_the_process(tmp_path):
    text = trained("GPT-2", tmp_path).to_str().encode()
    rng = random.Random(0)
    for _ in range(60):
        damaged = bytearray(text)
        for _ in range(rng.randint(1, 8)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        (tmp_path / "tokenizer.json").write_bytes(damaged[: rng.choice([len(damaged), rng.randrange(len(damaged))])])
        with contextlib.suppress(InvalidArgumentError):
            Ours(str(tmp_path)).encode("hello")


def llama2c(path, pieces, bos=1, eos=2):
    header = struct.pack("<iiii", len(pieces), bos, eos, max(len(piece) for piece, _ in pieces))
    path.write_bytes(header + b"".join(struct.pack("<fi", score, len(piece)) + piece for piece, score in pieces))
    return path


def test_tokenizers_of_llama2c_merge_the_best_pair_first(tmp_path):
    pieces = [(b"<unk>", 0.0), (b"\n<s>\n", 0.0), (b"\n</s>\n", 0.0)]
    pieces += [(b"<0x%02X>" % byte, 0.0) for byte in range(256)]
    pieces += [(b" ", -1.0), (b"a", -2.0), (b"b", -3.0), (b"ab", -4.0), (b" a", -5.0), (b"abab", -6.0)]
    tokenizer = Ours(str(llama2c(tmp_path / "t.bin", pieces)))
    space, _, _, pair, _, four = range(259, 265)
    assert tokenizer.encode("abab", 1, 1) == [1, space, four, 2]
    assert tokenizer.encode("abé") == [space, pair, 3 + 0xC3, 3 + 0xA9]
    assert tokenizer.decode([1, space, four, 3 + 0xC3, 3 + 0xA9])[-5:] == "ababé"
    whole = (tmp_path / "t.bin").read_bytes()
    for size in (0, 7, 16, 30, len(whole) - 1):
        (tmp_path / "cut.bin").write_bytes(whole[:size])
        with pytest.raises(InvalidArgumentError):
            Ours(str(tmp_path / "cut.bin"))
