# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""LoRA adapters: low-rank products added to linear layers, read from checkpoints of PEFT or with this decoder's
names."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from executorch.examples.models.llama.convert_weights import CheckpointError, from_hugging_face
from executorch.exir.serialize.regular_file import read_regular_file
from executorch.extension.llm.export.config.llm_config import LlmConfigError, LoraConfig
from executorch.extension.llm.export.load import load_checkpoint

__all__ = ["Adapter", "LoRALinear", "add_adapter", "read_adapter"]

_CONFIG_NAME = "adapter_config.json"
_MAX_NUMBER = 1 << 53  # JSON's integers may be too large for a float
_PEFT_NAME = re.compile(r"base_model\.model\.(.+)\.lora_([AB])(?:\.default)?\.weight")
_OUR_NAME = re.compile(r"(.+)\.lora_([ab])\.weight")
# Options that change the meaning of A and B, with the values that have no effect.
_UNSUPPORTED: dict[str, tuple[Any, ...]] = {
    "peft_type": (None, "LORA"),
    "bias": (None, "none"),
    "use_dora": (None, False),
    "fan_in_fan_out": (None, False),
    "rank_pattern": (None, {}),
    "alpha_pattern": (None, {}),
    "modules_to_save": (None, []),
    "layers_to_transform": (None, []),
}


class LoRALinear(nn.Linear):
    """A linear layer plus an adapter: `W x + b + alpha / rank * B A x`.

    `weight` and `bias` keep the names that they have without an adapter, so that both are stored once.
    """

    def __init__(
        self, in_dim: int, out_dim: int, rank: int, alpha: float, dropout: float = 0.0, use_bias: bool = False
    ) -> None:
        super().__init__(in_dim, out_dim, bias=use_bias)
        self.rank, self.alpha = rank, alpha
        self.dropout = nn.Dropout(dropout) if dropout > 0 else nn.Identity()
        self.lora_a = nn.Linear(in_dim, rank, bias=False)
        self.lora_b = nn.Linear(rank, out_dim, bias=False)

    @classmethod
    def of_linear(cls, linear: nn.Linear, rank: int) -> LoRALinear:
        """Return a layer with the weight and the bias of `linear`. The adapter's scale is a factor of B."""
        with torch.device("meta"):
            layer = cls(linear.in_features, linear.out_features, rank, alpha=rank)
        for added in (layer.lora_a, layer.lora_b):
            added.to_empty(device=linear.weight.device).to(linear.weight.dtype)
        layer.weight, layer.bias = linear.weight, linear.bias
        return layer

    def forward(
        self, x: torch.Tensor, lora_a: torch.Tensor | None = None, lora_b: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Take any leading dimensions. lora_a, lora_b: weights for this call instead of the layer's, both or none."""
        if lora_a is None or lora_b is None:
            added: torch.Tensor = self.lora_b(self.lora_a(self.dropout(x)))
        else:
            added = F.linear(F.linear(self.dropout(x), lora_a), lora_b)
        # The scale of add_adapter is part of B: such a layer needs no multiplication.
        return super().forward(x) + (added if self.alpha == self.rank else self.alpha / self.rank * added)


@dataclass(frozen=True)
class Adapter:
    """Matrices A [rank, inputs] and B [outputs, rank] by the name of the linear layer; B is multiplied by `scale`."""

    rank: int
    scale: float
    target_modules: tuple[str, ...]
    matrices: Mapping[str, tuple[torch.Tensor, torch.Tensor]]


def read_adapter(config: LoraConfig) -> Adapter:
    """Read the checkpoint and the sizes that a configuration names.

    `adapter_checkpoint` may be a folder of PEFT. Sizes come from `adapter_config`, or from `adapter_config.json` in the
    folder, unless `lora_rank` is given. Raises LlmConfigError, CheckpointError, CheckpointFileError, OSError.
    """
    if not config.adapter_checkpoint:
        raise LlmConfigError("lora_config.adapter_checkpoint: expected the path of an adapter")
    if config.adapter_quant is not None:
        raise LlmConfigError(
            "lora_config.adapter_quant: this project does not support it; adapters have the dtype of the model"
        )
    path = Path(config.adapter_checkpoint)
    rank, alpha, targets, divides_by_root = config.lora_rank, float(config.lora_alpha), config.target_modules, False
    if not rank:
        if config.adapter_config is None and not (path / _CONFIG_NAME).exists():
            raise LlmConfigError("lora_config: expected adapter_config, or lora_rank, lora_alpha and target_modules")
        sizes = _read_sizes(Path(config.adapter_config) if config.adapter_config else path / _CONFIG_NAME)
        rank, alpha, targets, divides_by_root = sizes
    if rank < 1 or not (math.isfinite(alpha) and alpha > 0):
        raise LlmConfigError(f"lora_config: expected a positive rank and alpha, found {rank} and {alpha:g}")
    scale = alpha / (math.sqrt(rank) if divides_by_root else rank)
    return Adapter(rank, scale, tuple(targets), _matrices(path, rank))


def _read_sizes(path: Path) -> tuple[int, float, list[str], bool]:
    """Rank, alpha, target modules and `use_rslora` of a configuration of PEFT."""
    try:
        read = json.loads(read_regular_file(path))
    except (ValueError, RecursionError) as error:
        raise LlmConfigError(f"{path}: expected JSON: {error}") from error
    if not isinstance(read, dict):
        raise LlmConfigError(f"{path}: expected a JSON object, found {type(read).__name__}")
    for name, accepted in _UNSUPPORTED.items():
        if read.get(name) not in accepted:
            raise LlmConfigError(f"{path}: {name}: this project does not support {read[name]!r}")
    rank, alpha, targets = read.get("r"), read.get("lora_alpha"), read.get("target_modules")
    if not (isinstance(rank, int) and isinstance(alpha, (int, float)) and max(rank, abs(alpha)) <= _MAX_NUMBER):
        raise LlmConfigError(f"{path}: expected numbers r and lora_alpha, found {rank!r} and {alpha!r}")
    if not isinstance(targets, list) or not all(isinstance(target, str) for target in targets):
        raise LlmConfigError(f"{path}: target_modules: expected a list of names, found {targets!r}")
    return rank, float(alpha), targets, bool(read.get("use_rslora"))


def _matrices(path: Path, rank: int) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    by_layer: dict[str, dict[str, torch.Tensor]] = {}
    for name, weight in load_checkpoint(path).items():
        peft_match, match = _PEFT_NAME.fullmatch(name), _OUR_NAME.fullmatch(name)
        if peft_match is not None:
            (layer,) = from_hugging_face({f"{peft_match[1]}.weight": weight})
            by_layer.setdefault(layer.removesuffix(".weight"), {})[peft_match[2].lower()] = weight
        elif match is not None:
            by_layer.setdefault(match[1], {})[match[2]] = weight
        else:
            raise CheckpointError(f"{path}: expected matrices lora_A and lora_B of linear layers, found {name}")
    for layer, pair in by_layer.items():
        shapes = {which: list(weight.shape) for which, weight in pair.items()}
        if set(pair) != {"a", "b"} or pair["a"].dim() != 2 or pair["a"].shape[0] != rank:
            raise CheckpointError(f"{path}: {layer}: expected A and B of rank {rank}, found {shapes}")
    return {layer: (pair["a"], pair["b"]) for layer, pair in by_layer.items()}


# PEFT's name of a module → the last part of ours.
_TARGETS = {
    "q_proj": "wq",
    "k_proj": "wk",
    "v_proj": "wv",
    "o_proj": "wo",
    "gate_proj": "w1",
    "down_proj": "w2",
    "up_proj": "w3",
    "lm_head": "output",
}


def add_adapter(model: nn.Module, adapter: Adapter) -> nn.Module:
    """Replace the adapter's linear layers by LoRALinear, in place; return the model.

    Raises CheckpointError for a target module without matrices, for matrices of another layer, and for other shapes.
    """
    last_parts = {_TARGETS.get(name, name) for name in adapter.target_modules}
    layers = {name: module for name, module in model.named_modules() if isinstance(module, nn.Linear)}
    targets = {name for name in layers if name.rpartition(".")[2] in last_parts}
    for kind, names in (
        ("adapter lacks matrices of target modules", targets - set(adapter.matrices)),
        ("adapter has matrices of layers outside target_modules", set(adapter.matrices) - targets),
    ):
        if names:
            raise CheckpointError(f"{kind}: {', '.join(sorted(names)[:8])}")
    if not targets:
        raise CheckpointError(f"target_modules: no linear layer is named {', '.join(adapter.target_modules)}")
    for name, (a, b) in adapter.matrices.items():
        linear = layers[name]
        if a.shape[1] != linear.in_features or tuple(b.shape) != (linear.out_features, adapter.rank):
            raise CheckpointError(
                f"{name}: expected A [{adapter.rank}, {linear.in_features}] and B [{linear.out_features}, "
                f"{adapter.rank}], found {list(a.shape)} and {list(b.shape)}"
            )
        added = LoRALinear.of_linear(linear, adapter.rank)
        with torch.no_grad():
            added.lora_a.weight.copy_(a)
            added.lora_b.weight.copy_(b.float() * adapter.scale)
        model.set_submodule(name, added.eval())
    return model
