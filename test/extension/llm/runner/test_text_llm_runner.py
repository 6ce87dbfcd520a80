# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The runner of language models: greedy text against eager, limits, callbacks, bad input."""

import json
import subprocess
import threading

import pytest
import torch

import executorch.extension
from executorch.extension.llm.runner import (
    GenerationConfig,
    TextLLMRunner,
    Tokenizer,
    make_image_input,
    make_text_input,
    make_token_input,
)
from executorch.runtime.errors import ExecuTorchError, InvalidArgumentError
from test.extension.llm.runner.small_models import (
    BOS,
    CHUNK,
    CONTEXT,
    EOS,
    as_text,
    eager_tokens,
    export,
    export_prefill_and_decode,
    write_tokenizer,
)

pytestmark = pytest.mark.sampled(by="file")

PROMPT = "The quick brown fox"
LLAMA_MAIN = f"{next(iter(executorch.extension.__path__))}/../data/bin/llama_main"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("llm")
    custom = ["model.use_kv_cache=True", "model.use_sdpa_with_kv_cache=True"]
    program, eager = export(folder, "custom.pte", *custom)
    return {
        "folder": folder,
        "tokenizer": write_tokenizer(folder / "tokenizer.json"),
        "custom": program,
        "one by one": export(folder, "single.pte", *custom, "model.enable_dynamic_shape=False")[0],
        "all logits": export(folder, "all.pte", "model.use_kv_cache=True", "debug.generate_full_logits=True")[0],
        "eager": eager,
    }


@pytest.fixture
def runner(files):
    return TextLLMRunner(files["custom"], files["tokenizer"])


def generated(runner, prompt=PROMPT, **options):
    """The text without the prompt, and the statistics."""
    pieces, stats = [], []
    config = GenerationConfig(**{"echo": False, "temperature": 0, "ignore_eos": True, **options})
    runner.generate(prompt, config, pieces.append, stats.append)
    return "".join(pieces), stats[0]


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["custom", "one by one", "all logits"])
def test_greedy_text_is_that_of_eager_beyond_a_chunk_of_the_prompt(files, name):
    runner = TextLLMRunner(files[name], files["tokenizer"])
    assert len(PROMPT) > 2 * CHUNK
    text, stats = generated(runner, max_new_tokens=20)
    tokens = eager_tokens(files["eager"], PROMPT.encode(), 20)
    assert text == as_text(tokens)
    assert (stats.num_prompt_tokens, stats.num_generated_tokens) == (len(PROMPT), 20)
    assert json.loads(stats.to_json_string())["generated_tokens"] == 20


def test_prefill_and_decode_share_one_cache(tmp_path, files):
    program, eager = export_prefill_and_decode(tmp_path, "two.pte")
    text, _ = generated(TextLLMRunner(program, files["tokenizer"]), max_new_tokens=12)
    assert text == as_text(eager_tokens(eager, PROMPT.encode(), 12))


def test_a_conversation_goes_on_where_it_ended_and_begins_again_after_reset(runner, files):
    first, _ = generated(runner, max_new_tokens=4)
    assert runner.position == len(PROMPT) + 3
    second, _ = generated(runner, " and", max_new_tokens=4)
    tokens = list(PROMPT.encode())
    tokens += eager_tokens(files["eager"], tokens, 4)
    tokens += b" and"
    assert second == as_text(eager_tokens(files["eager"], tokens, 4))
    runner.reset()
    assert runner.position == 0
    assert generated(runner, max_new_tokens=4)[0] == first


def test_prefill_gives_the_most_likely_token_and_moves_the_position_on(runner, files):
    assert runner.prefill(PROMPT) == eager_tokens(files["eager"], PROMPT.encode(), 1)[0]
    assert runner.position == len(PROMPT)


def test_a_generation_continues_after_prefill(runner, files):
    runner.prefill(PROMPT)
    assert generated(runner, "", max_new_tokens=6)[0] == as_text(eager_tokens(files["eager"], PROMPT.encode(), 6))
    runner.reset()
    parts = [make_text_input(PROMPT[:5]), make_token_input(list(PROMPT[5:].encode()))]
    assert runner.prefill(parts) == eager_tokens(files["eager"], PROMPT.encode(), 1)[0]
    with pytest.raises(InvalidArgumentError, match="expects text or tokens, found image"):
        runner.prefill([make_image_input(torch.zeros(3, 2, 2))])


def test_a_prompt_that_repeats_the_text_runs_its_end_alone(runner, files):
    whole, stats = generated(runner, max_new_tokens=8)
    assert stats.num_prompt_tokens == len(PROMPT)
    again, stats = generated(runner, PROMPT, max_new_tokens=8, reuse_prefix=True)
    assert (again, stats.num_prompt_tokens) == (whole, 1)
    other = PROMPT[:9] + "own"
    text, stats = generated(runner, other, max_new_tokens=8, reuse_prefix=True)
    assert stats.num_prompt_tokens == len(other) - 9
    assert text == as_text(eager_tokens(files["eager"], other.encode(), 8))


@pytest.mark.parametrize(
    "layers",
    [
        {"layer_types": ["conv", "full_attention"]},
        {"layer_types": ["sliding_attention", "full_attention"], "sliding_window": CHUNK},
    ],
    ids=["convolution", "window"],
)
def test_a_text_is_computed_again_where_the_state_of_its_prefix_is_lost(layers, files, tmp_path):
    program, eager = export(tmp_path, "layers.pte", "model.use_kv_cache=True", **layers)
    runner = TextLLMRunner(program, files["tokenizer"])
    generated(runner, max_new_tokens=8)
    other = PROMPT[:9] + "own"
    text, stats = generated(runner, other, max_new_tokens=8, reuse_prefix=True)
    assert stats.num_prompt_tokens == len(other)
    assert text == as_text(eager_tokens(eager, other.encode(), 8))


def test_another_thread_reads_position_and_statistics_during_a_call(runner):
    seen = []

    def read(_):
        thread = threading.Thread(target=lambda: seen.append((runner.position, runner.stats.num_prompt_tokens)))
        thread.start()
        thread.join()

    runner.generate(PROMPT, GenerationConfig(echo=False, max_new_tokens=3, ignore_eos=True), read)
    assert seen == [(len(PROMPT) + i, len(PROMPT)) for i in range(3)]
    assert runner.position == len(PROMPT) + 2


def test_a_failed_call_that_overwrote_the_cache_is_computed_again(runner):
    def fail(text):
        raise KeyError(text)

    generated(runner, max_new_tokens=4)
    position = runner.position
    with pytest.raises(KeyError):
        runner.generate("The slow", GenerationConfig(echo=False, reuse_prefix=True), fail)
    assert runner.position < position
    continued, _ = generated(runner, " and", max_new_tokens=6)
    runner.reset()
    generated(runner, max_new_tokens=4)
    assert generated(runner, " and", max_new_tokens=6)[0] == continued


def test_lengths_end_the_generation(runner):
    assert generated(runner, seq_len=len(PROMPT) + 3)[1].num_generated_tokens == 3
    runner.reset()
    assert generated(runner)[1].num_generated_tokens == CONTEXT - len(PROMPT)
    assert GenerationConfig(seq_len=20, max_new_tokens=50).resolve_max_new_tokens(32, 12) == 8
    assert GenerationConfig().resolve_max_new_tokens(32, 40) == 0
    for name in ("num_tokens_occupied", "num_prompt_tokens"):
        assert GenerationConfig().resolve_max_new_tokens(max_context_len=32, **{name: 12}) == 20


def test_a_configuration_shows_its_values():
    shown = repr(GenerationConfig(max_new_tokens=100, temperature=0.7, stop_strings=["."]))
    assert shown.startswith(
        "GenerationConfig(echo=True, max_new_tokens=100, warming=False, seq_len=-1, temperature=0.7,"
    )
    assert "stop_strings=['.']" in shown


def test_the_same_seed_draws_the_same_text_and_limits_leave_the_likeliest_token(runner):
    def draw(**options):
        runner.reset()
        return generated(runner, temperature=1.5, max_new_tokens=12, **options)[0]

    greedy = generated(runner, max_new_tokens=12)[0]
    assert draw(seed=7) == draw(seed=7)
    assert len({draw(seed=seed) for seed in range(1, 6)}) > 1
    assert draw(seed=5, topk=1) == draw(seed=5, topp=1e-6) == draw(seed=5, minp=1.0) == greedy


def test_stop_texts_and_callbacks_end_the_generation(runner):
    whole, _ = generated(runner, max_new_tokens=12)
    runner.reset()
    cut, _ = generated(runner, max_new_tokens=12, stop_strings=["never", whole[:2]])
    assert cut == whole[:2]
    runner.reset()
    pieces = []
    config = GenerationConfig(echo=True, temperature=0, ignore_eos=True)
    runner.generate(PROMPT, config, lambda text: (pieces.append(text), len(pieces) == 4 and runner.stop()))
    assert pieces[0] == PROMPT
    assert len(pieces) <= 5


def test_text_is_streamed_and_closing_the_iterator_stops(runner):
    whole, _ = generated(runner, max_new_tokens=12)
    runner.reset()
    config = GenerationConfig(echo=False, temperature=0, max_new_tokens=12, ignore_eos=True)
    assert "".join(runner.stream(PROMPT, config)) == whole
    runner.reset()
    stream = runner.stream(PROMPT, config)
    next(stream)
    stream.close()
    with pytest.raises(InvalidArgumentError, match="temperature"):
        list(runner.stream(PROMPT, GenerationConfig(temperature=-1)))


def test_a_callback_that_raises_ends_the_call_and_the_runner_can_be_used_again(runner):
    def fail(text):
        raise KeyError(text)

    expected, _ = generated(runner, max_new_tokens=5)
    runner.reset()
    with pytest.raises(KeyError):
        runner.generate(PROMPT, GenerationConfig(echo=False), fail)
    assert runner.position == 0
    assert generated(runner, max_new_tokens=5)[0] == expected


@pytest.mark.parametrize(
    "call",
    [
        lambda runner: runner.reset(),
        lambda runner: runner.prefill(PROMPT),
        lambda runner: runner.generate(PROMPT, GenerationConfig(temperature=0)),
    ],
    ids=["reset", "prefill", "generate"],
)
def test_a_callback_that_calls_its_runner_is_refused(runner, call):
    config = GenerationConfig(echo=False, temperature=0, max_new_tokens=5)
    with pytest.raises(ExecuTorchError, match="a callback cannot call its runner"):
        runner.generate(PROMPT, config, lambda text: call(runner))
    with pytest.raises(ExecuTorchError, match="a callback cannot call its runner"):
        runner.generate(PROMPT, config, None, lambda stats: call(runner))
    call(runner)


def test_a_generation_does_not_see_changes_of_its_options(runner):
    whole, _ = generated(runner, max_new_tokens=12)
    runner.reset()
    config = GenerationConfig(echo=False, temperature=0, max_new_tokens=12, ignore_eos=True)
    pieces = []

    def change(text):
        pieces.append(text)
        config.stop_strings = ["never" * 1000]
        config.max_new_tokens = 1

    runner.generate(PROMPT, config, change)
    assert "".join(pieces) == whole


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": -0.5}, "temperature: expected a finite number of 0 or more"),
        ({"temperature": float("nan")}, "temperature"),
        ({"topp": 0.0}, "topp: expected more than 0"),
        ({"topk": -1}, "topk"),
        ({"minp": 1.5}, "minp"),
        ({"repetition_penalty": 0.0}, "repetition_penalty"),
        ({"max_new_tokens": -2}, "max_new_tokens"),
        ({"seq_len": 3}, "leave no room"),
        ({"prompt": "x" * (CONTEXT + 1)}, f"do not fit the context of {CONTEXT}"),
        ({"prompt": ""}, "expected tokens"),
        ({"num_bos": 200}, "num_bos and num_eos: expected 0 to 127"),
        ({"prompt": b"\xff"}, "expected text in UTF-8"),
        ({"temperature": float("inf")}, "temperature: expected a finite number of 0 or more"),
        ({"minp": float("nan")}, "minp"),
        ({"repetition_penalty": float("inf")}, "repetition_penalty"),
        ({"seq_len": 0}, "leave no room"),
    ],
)
def test_impossible_requests_are_refused_and_change_nothing(runner, options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        generated(runner, **options)
    assert runner.position == 0
    assert generated(runner, max_new_tokens=3)[1].num_generated_tokens == 3


def test_files_that_do_not_fit_are_refused(files, tmp_path):
    broken = tmp_path / "tokenizer.json"
    for content in ("{", "[]", '{"model": {"type": "WordPiece"}}', '{"model": {"vocab": 3, "merges": []}}'):
        broken.write_text(content)
        with pytest.raises(InvalidArgumentError, match="cannot"):
            TextLLMRunner(files["custom"], broken)
    with pytest.raises(ExecuTorchError):
        TextLLMRunner(tmp_path / "missing.pte", files["tokenizer"])
    for arguments in ((f"{files['custom']}\0", files["tokenizer"]), (files["custom"], f"{files['tokenizer']}\0x")):
        with pytest.raises(InvalidArgumentError, match="expected no NUL character"):
            TextLLMRunner(*arguments)
    larger = TextLLMRunner(files["custom"], write_tokenizer(broken, 300))
    with pytest.raises(InvalidArgumentError, match="vocabulary of 258"):
        generated(larger, "<more>")


def test_loading_reports_the_bytes_that_it_read(files):
    reports = []
    TextLLMRunner(files["custom"], files["tokenizer"], progress=lambda read, total: reports.append((read, total)))
    size = files["custom"].stat().st_size
    assert [total for _, total in reports] == [size] * len(reports)
    assert reports == sorted(reports)
    assert reports[-1] == (size, size)

    def fail(read, total):
        raise KeyError(read)

    with pytest.raises(KeyError):
        TextLLMRunner(files["custom"], files["tokenizer"], progress=fail)


def test_statistics_have_rates(runner):
    _, stats = generated(runner, max_new_tokens=20)
    assert stats.tokens_per_second >= 0
    assert runner.stats.num_generated_tokens == 20


def test_two_runners_generate_at_once(files):
    results = {}

    def work(index):
        results[index] = generated(TextLLMRunner(files["custom"], files["tokenizer"]), max_new_tokens=20)[0]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results[0] == results[1]


def test_llama_main_prints_what_the_runner_generates(files, runner):
    expected, _ = generated(runner, max_new_tokens=10)
    command = [
        LLAMA_MAIN, f"--model_path={files['custom']}", "--tokenizer_path", str(files["tokenizer"]),
        f"--prompt={PROMPT}", "--temperature=0", "--max_new_tokens=10", "--ignore_eos", "--warmup",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stdout.decode("utf-8", "backslashreplace") == PROMPT + expected
    assert b"PyTorchObserver {" in done.stderr
    stopped = subprocess.run([*command, "--stop=never", f"--stop={expected[:2]}"], capture_output=True, check=True)
    assert stopped.stdout.decode() == PROMPT + expected[:2]
    for wrong in (["--temperature=hot"], ["--no_such=1"], ["--model_path=nowhere.pte"]):
        failed = subprocess.run([*command, *wrong], capture_output=True, check=False)
        assert failed.returncode in (1, 2)
        assert failed.stderr


def test_the_tokenizer_of_the_runner_reads_bytes(files):
    tokenizer = Tokenizer(str(files["tokenizer"]))
    assert tokenizer.encode("héllo", 1, 1) == [BOS, *"héllo".encode(), EOS]
    assert tokenizer.decode([*"héllo".encode()]) == "héllo"
    for counts in ((-1, 0), (0, -128)):
        with pytest.raises(InvalidArgumentError, match="bos and eos: expected 0 to 127"):
            tokenizer.encode("a", *counts)
    with pytest.raises(InvalidArgumentError, match="no token 1000000"):
        tokenizer.decode([1000000])
    with pytest.raises(InvalidArgumentError, match="expected no NUL character"):
        Tokenizer(f"{files['tokenizer']}\0")


def test_programs_whose_sizes_are_wrong_are_refused(tmp_path, files):
    cached = ["model.use_kv_cache=True", "model.use_sdpa_with_kv_cache=True"]
    for value in ({"get_max_seq_len": 0}, {"get_max_seq_len": 2**62}, {"get_max_context_len": -5}):
        program, _ = export(tmp_path, "wrong.pte", *cached, f"base.metadata='{json.dumps(value)}'")
        with pytest.raises(InvalidArgumentError, match=f"{next(iter(value))}.* a positive number, found"):
            TextLLMRunner(program, files["tokenizer"])
    # The runner believes in a longer context; the cache's own check ends the generation.
    program, _ = export(tmp_path, "longer.pte", *cached, "base.metadata='{\"get_max_context_len\": 1000}'")
    runner = TextLLMRunner(program, files["tokenizer"])
    with pytest.raises(InvalidArgumentError, match=f"do not fit a cache of {CONTEXT} positions"):
        generated(runner, max_new_tokens=2 * CONTEXT)
    runner.reset()
    assert generated(runner, max_new_tokens=3)[1].num_generated_tokens == 3
