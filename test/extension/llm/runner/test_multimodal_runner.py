# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The multimodal runner: greedy text against eager after text, tokens, images and audio; bad input."""

import pytest
import torch

from executorch.exir import to_edge
from executorch.extension.llm.runner import (
    GenerationConfig,
    Image,
    MultimodalInput,
    MultimodalRunner,
    make_audio_input,
    make_image_input,
    make_raw_audio_input,
    make_text_input,
    make_token_input,
)
from executorch.runtime.errors import InvalidArgumentError, NotSupportedError
from test.extension.llm.runner.small_models import as_text, write_tokenizer

CONTEXT, CHUNK, WIDTH, WORDS = 40, 8, 16, 258
IMAGE = torch.arange(48, dtype=torch.float32).reshape(3, 4, 4) / 48


class Decoder(torch.nn.Module):
    """One layer of attention over a cache, for embeddings at given positions."""

    def __init__(self):
        super().__init__()
        self.projection = torch.nn.Linear(WIDTH, WORDS, bias=False)
        self.register_buffer("cache", torch.zeros(1, CONTEXT, WIDTH))

    def forward(self, embeddings, positions):
        self.cache.index_copy_(1, positions, embeddings)
        hidden = torch.arange(CONTEXT)[None] > positions[:, None]
        scores = (embeddings @ self.cache.transpose(1, 2)).masked_fill(hidden, -1e9)
        return self.projection(torch.softmax(scores, -1) @ self.cache)


class Encoder(torch.nn.Module):
    """Patches of an image or frames of audio as embeddings."""

    def __init__(self, features, count):
        super().__init__()
        self.count = count
        self.linear = torch.nn.Linear(features // count, WIDTH)

    def forward(self, content):
        return self.linear(content.reshape(1, self.count, -1))


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(5)
    parts = {
        "token_embedding": torch.nn.Embedding(WORDS, WIDTH),
        "text_decoder": Decoder(),
        "vision_encoder": Encoder(48, 12),
        "audio_encoder": Encoder(12, 3),
    }
    for part in parts.values():
        for weight in part.parameters():
            torch.nn.init.normal_(weight, std=1.0)
    return parts


@pytest.fixture(scope="module")
def files(tmp_path_factory, model):
    folder = tmp_path_factory.mktemp("multimodal")
    length = torch.export.Dim("length", max=CHUNK)
    example = {
        "token_embedding": ((torch.zeros(1, 3, dtype=torch.int64),), ({1: length},)),
        "text_decoder": ((torch.zeros(1, 3, WIDTH), torch.arange(3)), ({1: length}, {0: length})),
        "vision_encoder": ((IMAGE[None],), None),
        "audio_encoder": ((torch.zeros(1, 4, 3),), None),
    }
    programs = {
        name: torch.export.export(model[name], inputs, dynamic_shapes=shapes, strict=True)
        for name, (inputs, shapes) in example.items()
    }
    constants = {"get_max_seq_len": CHUNK, "get_max_context_len": CONTEXT, "get_eos_ids": [257]}
    program = folder / "model.pte"
    program.write_bytes(to_edge(programs, constant_methods=constants).to_executorch().buffer)
    return program, write_tokenizer(folder / "tokenizer.json")


@pytest.fixture
def runner(files):
    return MultimodalRunner(*files)


def eager(model, parts, count):
    """The most likely tokens after tokens and embeddings."""
    embed = model["token_embedding"]
    rows = [embed(torch.tensor([part])) if isinstance(part, list) else part for part in parts]
    tokens = []
    with torch.no_grad():
        for _ in range(count):
            embeddings = torch.cat(rows, 1)
            decoder = Decoder()
            decoder.projection = model["text_decoder"].projection
            tokens.append(int(decoder(embeddings, torch.arange(embeddings.shape[1]))[0, -1].argmax()))
            rows.append(embed(torch.tensor([[tokens[-1]]])))
    return tokens


def config(**options):
    return GenerationConfig(**{"echo": False, "temperature": 0, "ignore_eos": True, "max_new_tokens": 6, **options})


def test_greedy_text_is_that_of_eager_after_inputs_of_every_type(runner, model):
    audio = torch.linspace(-1, 1, 12).reshape(1, 4, 3)
    inputs = [make_text_input("Look: "), make_image_input(IMAGE), make_token_input([65, 66]), make_audio_input(audio)]
    with torch.no_grad():
        parts = [list(b"Look: "), model["vision_encoder"](IMAGE[None]), [65, 66], model["audio_encoder"](audio)]
    expected = eager(model, parts, 10)
    stats = []
    pieces = []
    runner.generate(inputs, config(), pieces.append, stats.append)
    assert "".join(pieces) == as_text(expected[:6])
    assert stats[0].num_prompt_tokens == runner.position - 5 == 6 + 12 + 2 + 3
    assert runner.generate_text([], config(max_new_tokens=4)) == as_text(expected[6:])
    runner.reset()
    assert runner.prefill(inputs) == expected[0]
    assert runner.generate_text([], config()) == as_text(expected[:6])


def test_outputs_of_a_hugging_face_processor_are_divided_at_images(runner, model):
    ids = torch.tensor([[72, 105, 200, 200, 33]])
    with torch.no_grad():
        expected = eager(model, [[72, 105], model["vision_encoder"](IMAGE[None]), [33]], 6)
    inputs = {"input_ids": ids, "pixel_values": IMAGE[None]}
    assert runner.generate_text_hf(inputs, config(), image_token_id=200) == as_text(expected)
    for wrong, message in (
        ({"pixel_values": IMAGE}, "expected 'input_ids'"),
        (inputs, "expected image_token_id"),
        ({**inputs, "image_token_id": 7}, "no image tokens"),
        ({**inputs, "pixel_values": IMAGE[:0][None][:0], "image_token_id": 200}, "more runs"),
        ({"input_ids": ids, "image_token_id": 200}, "expected an image, because input_ids has the image token 200"),
    ):
        with pytest.raises(ValueError, match=message):
            runner.generate_hf(wrong, config())


def test_generate_hf_takes_a_list_of_inputs_as_well(runner, model):
    inputs = [make_token_input([72, 105]), make_image_input(IMAGE), make_token_input([33])]
    with torch.no_grad():
        expected = eager(model, [[72, 105], model["vision_encoder"](IMAGE[None]), [33]], 6)
    assert runner.generate_text_hf(inputs, config()) == as_text(expected)
    runner.reset()
    pieces = []
    runner.generate_hf(inputs, config(), token_callback=pieces.append)
    assert "".join(pieces) == as_text(expected)


def test_images_have_channels_first_or_last_and_any_layout(files):
    image = torch.arange(90, dtype=torch.float32).reshape(3, 5, 6)
    first = make_image_input(image).get_image()
    last = make_image_input(image.permute(1, 2, 0)).get_image()
    batch = make_image_input(image[None].contiguous(memory_format=torch.channels_last)).get_image()
    assert first.float_data == last.float_data == batch.float_data == image.flatten().tolist()
    assert (first.width, first.height, first.channels) == (6, 5, 3)
    pixels = make_image_input(image.to(torch.uint8)).get_image()
    assert pixels.is_uint8()
    assert pixels.uint8_data == list(range(90))


def test_inputs_show_their_type_and_sizes():
    assert repr(MultimodalInput("This is a test")) == "MultimodalInput(type=text, content='This is a test')"
    assert (
        repr(MultimodalInput("é" * 40))
        == f"MultimodalInput(type=text, content='{'é' * 23}\N{REPLACEMENT CHARACTER}...')"
    )
    assert repr(MultimodalInput(Image([0, 0, 0], 1, 1, 3))) == "MultimodalInput(type=image)"
    assert repr(Image([0] * 6, width=2, height=1, channels=3)) == "Image(height=1, width=2, channels=3)"
    audio = make_audio_input(torch.zeros(1, 2, 3)).get_audio()
    assert repr(audio) == "Audio(batch_size=1, n_bins=2, n_frames=3)"


def test_inputs_report_their_type():
    assert make_text_input("a").get_text() == "a"
    assert make_token_input([1, 2]).get_tokens() == [1, 2]
    assert make_text_input("a").get_image() is None
    assert make_raw_audio_input(torch.zeros(1, 1, 4, dtype=torch.uint8)).is_raw_audio()
    assert MultimodalInput(Image([0.0] * 3, 1, 1, 3)).is_image()


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([], "expected inputs, found none"),
        ([make_text_input("")], "expected tokens"),
        ([make_token_input([WORDS])], f"vocabulary of {WORDS}"),
        ([make_text_input("x" * (CONTEXT + 1))], "do not fit the context"),
        ([make_text_input("x" * 30), make_image_input(IMAGE)], "image: 12 embeddings after 30 do not fit"),
        ([make_image_input(torch.zeros(3, 4, 4, dtype=torch.uint8))], "expects Float, found Byte"),
        ([make_raw_audio_input(torch.zeros(1, 4, 3, dtype=torch.uint8))], "expects Float, found Byte"),
        ([make_text_input("x" * CONTEXT)], "leave no room"),
        ([MultimodalInput(Image([0.0] * 4, 4, 4, 3))], "expected 3 x 4 x 4 numbers"),
    ],
)
def test_inputs_that_cannot_be_used_are_refused_and_change_nothing(runner, inputs, message):
    with pytest.raises(InvalidArgumentError, match=message):
        runner.generate(inputs, config())
    assert runner.position == 0
    assert runner.generate_text([make_text_input("ab")], config(max_new_tokens=2))


def test_a_callback_that_raises_leaves_the_runner_as_it_was(runner):
    def fail(text):
        raise KeyError(text)

    whole = runner.generate_text([make_text_input("abc")], config())
    runner.reset()
    with pytest.raises(KeyError):
        runner.generate([make_text_input("abc")], config(), fail)
    assert runner.position == 0
    assert runner.generate_text([make_text_input("abc")], config()) == whole
    with pytest.raises(NotSupportedError, match="reuse_prefix"):
        runner.generate([make_text_input("a")], config(reuse_prefix=True))


@pytest.mark.parametrize("shape", [(2, 3, 4, 4), (5, 4, 4, 5), (3, 4)])
def test_tensors_that_are_not_images_are_refused(shape):
    with pytest.raises(InvalidArgumentError, match=r"make_image_input\(\): expected a uint8 or float32 tensor"):
        make_image_input(torch.zeros(*shape))
