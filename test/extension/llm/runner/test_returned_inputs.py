# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Multimodal programs whose methods return their inputs: the caller's memory, which the runner frees early."""

import pytest
import torch

from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.passes import MemoryPlanningPass
from executorch.extension.llm.runner import MultimodalRunner, make_audio_input, make_token_input
from executorch.runtime.errors import InvalidProgramError
from test.extension.llm.runner.small_models import write_tokenizer

WIDTH, WORDS, CHUNK = 64, 258, 8
FRAMES = 2048  # so many that free() unmaps their memory, and a later access fails


class Identity(torch.nn.Module):
    def forward(self, content):
        return content


class First(torch.nn.Module):
    def forward(self, embeddings, positions):
        return embeddings


class Decoder(torch.nn.Module):
    """Logits of each embedding of float16, whatever stands before it."""

    def __init__(self):
        super().__init__()
        self.projection = torch.nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, embeddings, positions):
        return self.projection(embeddings.float()) + 0 * positions[:, None]


def make_runner(folder, decoder):
    embedding = torch.nn.Embedding(WORDS, WIDTH, dtype=torch.float16)
    length = torch.export.Dim("length", max=CHUNK)
    methods = {
        "token_embedding": (embedding, (torch.zeros(1, 3, dtype=torch.int64),), ({1: length},)),
        "text_decoder": (
            decoder,
            (torch.zeros(1, 3, WIDTH, dtype=torch.float16), torch.arange(3)),
            ({1: length}, {0: length}),
        ),
        "audio_encoder": (Identity(), (torch.zeros(1, FRAMES, WIDTH, dtype=torch.float16),), None),
    }
    programs = {
        name: torch.export.export(module, inputs, dynamic_shapes=shapes)
        for name, (module, inputs, shapes) in methods.items()
    }
    constants = {"get_max_seq_len": CHUNK, "get_max_context_len": 2 * FRAMES, "get_eos_ids": [257]}
    config = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False))
    path = folder / "model.pte"
    path.write_bytes(to_edge(programs, constant_methods=constants).to_executorch(config).buffer)
    return MultimodalRunner(path, write_tokenizer(folder / "tokenizer.json"))


def test_logits_are_not_an_input(tmp_path):
    runner = make_runner(tmp_path, First())
    for inputs in ([make_token_input([1, 2])], [make_audio_input(torch.ones(1, FRAMES, WIDTH))]):
        with pytest.raises(InvalidProgramError, match="expected logits, found an input"):
            runner.prefill(inputs)


def test_embeddings_may_be_the_converted_input(tmp_path):
    torch.manual_seed(0)
    decoder = Decoder().eval()
    runner = make_runner(tmp_path, decoder)
    for seed in range(2):
        audio = torch.randn(1, FRAMES, WIDTH, generator=torch.Generator().manual_seed(seed))
        with torch.no_grad():
            expected = int(decoder(audio.half()[:, -1:], torch.arange(1))[0, -1].argmax())
        assert runner.prefill([make_audio_input(audio)]) == expected
        runner.reset()
