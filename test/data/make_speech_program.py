# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Write `test/data/speech/speech.pte`, a program with Whisper's methods, small enough to compute by hand, and
`no_end.pte`, the same without `get_eos_ids`.

    python test/data/make_speech_program.py test/data/speech/speech.pte

`encoder(features [1, 4, 3])` returns the features doubled. `text_decoder(token, states, position)` keeps the tokens
that it was given, and returns the logits of test/extension/asr/asr_runner_test.cpp. `get_eos_ids` returns 7.
"""

import sys
from pathlib import Path

import torch
from torch.export import export

from executorch.exir import to_edge

VOCABULARY, POSITIONS = 8, 16


class Encoder(torch.nn.Module):
    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return features * 2


class Decoder(torch.nn.Module):
    """Logits that are sums of four terms. Term by term, the logit of token v is

    (5 token + 3 v) % 8 + (7 position + 2 v v) % 5 + 0.125 v sum(states) + 0.25 (v % 3) sum(tokens so far).
    """

    def __init__(self) -> None:
        super().__init__()
        v = torch.arange(VOCABULARY)
        self.register_buffer("by_token", ((5 * v[:, None] + 3 * v) % 8).float())
        self.register_buffer("by_position", ((7 * torch.arange(POSITIONS)[:, None] + 2 * v * v) % 5).float())
        self.register_buffer("by_seen", 0.25 * (v % 3).float())
        self.register_buffer("by_states", 0.125 * v.float())
        self.register_buffer("seen", torch.zeros(POSITIONS))

    def forward(self, token: torch.Tensor, states: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        self.seen.index_put_((position,), token.reshape(1).float())
        visible = torch.where(torch.arange(POSITIONS) <= position, self.seen, torch.zeros(POSITIONS)).sum()
        logits = self.by_token[token.reshape(1)] + self.by_position[position]
        return (logits + states.sum() * self.by_states + visible * self.by_seen).reshape(1, 1, VOCABULARY)


def main(path: Path) -> None:
    features = torch.ones(1, 4, 3)
    token, position = torch.zeros(1, 1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)
    methods = {
        "encoder": export(Encoder(), (features,), strict=True),
        "text_decoder": export(Decoder(), (token, features, position), strict=True),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(to_edge(methods, constant_methods={"get_eos_ids": [7]}).to_executorch().buffer)
    path.with_name("no_end.pte").write_bytes(to_edge(methods).to_executorch().buffer)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
