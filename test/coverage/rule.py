# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The rules by which suites make models and arguments small."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """Sizes of models and arguments.

    seed: of weights and arguments, and which of torch's samples a suite takes. layers: most layers of a stack.
    width, heads, head_width: of a transformer's layers. batch, tokens: of the arguments. image: height and width where
    the configuration states no size. patches: rows and columns of patches, which replace the size that a
    configuration states; None keeps it. rank: which of timm's models of a module is taken, by their count of weights.
    """

    name: str
    seed: int = 0
    layers: int = 2
    width: int = 64
    inner_width: int = 128
    heads: int = 4
    key_value_heads: int = 2
    head_width: int = 16
    divisor: int = 8
    vocabulary: int = 320
    batch: int = 1
    tokens: int = 12
    image: tuple[int, int] = (64, 64)
    patches: tuple[int, int] | None = None
    rank: int = 0

    @property
    def label(self) -> str:
        """The rule and seed as results name them; empty for the first rule with seed 0."""
        words = [] if self.name == "small" else [self.name]
        return ", ".join([*words, f"seed {self.seed}"] if self.seed else words)


SMALL = Rule("small")
# Widths are not multiples of 8. Sizes differ from those of published models.
ODD = Rule(
    "odd",
    layers=3,
    width=60,
    inner_width=84,
    heads=3,
    key_value_heads=1,
    head_width=20,
    divisor=12,
    vocabulary=333,
    batch=3,
    tokens=13,
    image=(75, 90),
    patches=(5, 7),
    rank=1,
)
RULES = {one.name: one for one in (SMALL, ODD)}
