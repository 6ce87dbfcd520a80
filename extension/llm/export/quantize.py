# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Quantization of a decoder's linear layers and embedding before export."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from executorch.exir.operator import quantized  # defines the embeddings' operators
from executorch.extension.llm.export.config.llm_config import LlmConfigError, QuantizationConfig

logger = logging.getLogger(__name__)

_BITS: dict[int, torch.dtype] = {bits: getattr(torch, f"int{bits}") for bits in range(1, 9)}
_DEFAULT_GROUP = 128
_ADAPTER_PARTS = ("lora_a", "lora_b")


def quantize_linear_layers(
    model: nn.Module, config: QuantizationConfig, others: Mapping[str, tuple[int, int]] | None = None
) -> nn.Module:
    """Quantize the model's linear layers in place to the format of `qmode`. Return the model.

    others: module name → bits and group size of the layers below it, instead of those of `qmode`. Group size 0 is a
    row. Raises LlmConfigError where a group does not divide a layer's inputs. With `8da4w`, as in ExecuTorch 1.4,
    such layers stay in float, and a warning names each; it is an error only if no layer fits.
    """
    if config.qmode is None:
        return model
    bits, is_dynamic = _mode(config.qmode)
    others = others or {}
    for name, (other_bits, size) in others.items():
        _quantize(model.get_submodule(name), other_bits, size, is_dynamic, config.use_hqq)
    taken = {id(module) for name in others for module in model.get_submodule(name).modules()}
    size, skips = _group_size(config, bits), config.qmode == "8da4w"
    return _quantize(model, bits, size, is_dynamic, config.use_hqq, taken=taken, skips=skips)


def _quantize(
    model: nn.Module,
    bits: int,
    size: int,
    is_dynamic: bool,
    use_hqq: bool,
    *,
    taken: Collection[int] = (),
    skips: bool = False,
) -> nn.Module:
    """Quantize linear layers, except modules whose id() is in `taken`. skips: leave layers that do not fit `size`."""
    from torchao.quantization import quantize_  # type: ignore[import-untyped]
    from torchao.utils import unwrap_tensor_subclass  # type: ignore[import-untyped]

    layers = {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and _is_quantized(name) and id(module) not in taken
    }
    names = _fitting_layers(layers, size, skips)
    quantize_(model, _torchao_config(bits, size, is_dynamic, use_hqq), filter_fn=lambda _, name: name in names)
    unwrapped: nn.Module = unwrap_tensor_subclass(model)
    return unwrapped


def quantize_model_(
    module: nn.Module,
    qlinear_config: str | None = None,
    qlinear_group_size: int | None = None,
    qlinear_packing_format: str | None = None,
    qembedding_config: str | None = None,
    qembedding_group_size: int | None = None,
    tie_word_embeddings: bool = False,
    skip_incompatible_shapes: bool = False,
) -> None:
    """Replace the weights of a model's linear layers and embeddings, in place, by torchao's quantized tensors.

    qlinear_config: "4w", "8w", "8da4w" or "8da8w". qembedding_config: "4w" or "8w". Group size 0 is a row; None: 32
    for 4 bits, a row for 8. skip_incompatible_shapes: leave layers whose rows the group size does not divide.
    Raises LlmConfigError for other configurations, for such rows, for a packing format, which a delegate chooses by
    itself, and for tied weights: `model.use_shared_embedding` of `export_llm` shares them.
    """
    if qlinear_packing_format is not None:
        raise LlmConfigError(f"qlinear_packing_format: expected None, found {qlinear_packing_format!r}")
    if tie_word_embeddings:
        raise LlmConfigError("tie_word_embeddings: quantize with model.use_shared_embedding of export_llm instead")
    steps = (
        ("qembedding_config", qembedding_config, qembedding_group_size, ("4w", "8w"), nn.Embedding),
        ("qlinear_config", qlinear_config, qlinear_group_size, ("4w", "8w", "8da4w", "8da8w"), nn.Linear),
    )
    for option, chosen, group_size, known, kind in steps:
        if chosen is None:
            continue
        if chosen not in known:
            raise LlmConfigError(f"{option}: expected one of {', '.join(known)}, found {chosen!r}")
        bits = 4 if "4w" in chosen else 8
        size = group_size if group_size is not None else {4: 32, 8: 0}[bits]
        names = _fitting_modules(module, kind, size, skip_incompatible_shapes)
        _quantize_modules(module, names, _torchao_config(bits, size, chosen.startswith("8da"), use_hqq=True))


def _fitting_modules(model: nn.Module, kind: type[nn.Module], size: int, skips: bool) -> set[str]:
    """Return the names of modules whose rows `size` divides. Raises LlmConfigError for others unless `skips`."""
    names: set[str] = set()
    for name, module in model.named_modules():
        if not isinstance(module, kind):
            continue
        weight = module.weight
        assert isinstance(weight, torch.Tensor)
        if size == 0 or weight.shape[1] % size == 0:
            names.add(name)
        elif skips:
            logger.warning("%s stays in float: the group size %d does not divide %d", name, size, weight.shape[1])
        else:
            raise LlmConfigError(
                f"{name}: the group size {size} does not divide rows of {weight.shape[1]} numbers; "
                "skip_incompatible_shapes=True leaves such layers"
            )
    return names


def _quantize_modules(model: nn.Module, names: set[str], config: Any) -> None:
    from torchao.quantization import quantize_

    quantize_(model, config, filter_fn=lambda _, name: name in names)


def _torchao_config(bits: int, size: int, is_dynamic: bool, use_hqq: bool) -> Any:
    """Torchao's quantization of a linear layer; size 0: a scale a row. use_hqq: search the scales with the least error
    (half-quadratic quantization, https://dropbox.github.io/hqq_blog), in place of those of the largest magnitudes."""
    from torchao.quantization.granularity import PerAxis, PerGroup  # type: ignore[import-untyped]
    from torchao.quantization.quant_api import (  # type: ignore[import-untyped]
        Int8DynamicActivationIntxWeightConfig,
        IntxWeightOnlyConfig,
    )

    granularity = PerGroup(size) if size else PerAxis(0)
    algorithm = "hqq_scale_only" if use_hqq else "affine"
    if is_dynamic:
        return Int8DynamicActivationIntxWeightConfig(
            weight_dtype=_BITS[bits], weight_granularity=granularity, intx_choose_qparams_algorithm=algorithm
        )
    return IntxWeightOnlyConfig(
        weight_dtype=_BITS[bits], granularity=granularity, intx_choose_qparams_algorithm=algorithm
    )


def _is_quantized(name: str) -> bool:
    """Return whether a linear layer is quantized: matrices of adapters stay as they were trained."""
    return name.rpartition(".")[2] not in _ADAPTER_PARTS


def linear_format(config: QuantizationConfig) -> tuple[int, int, bool] | None:
    """Return bits and group size of linear layers, and whether activations are quantized; None without `qmode`."""
    if config.qmode is None:
        return None
    bits, is_dynamic = _mode(config.qmode)
    return bits, _group_size(config, bits), is_dynamic


def _mode(qmode: str) -> tuple[int, bool]:
    """Bits of a weight, and whether activations are quantized to 8 bits at run time."""
    if qmode == "int8":
        return 8, False
    if qmode == "4w":
        return 4, False
    if qmode == "8da4w":
        return 4, True
    match = re.fullmatch(r"torchao:(8da|fpa)(\d+)w", qmode)
    if match is None or int(match[2]) not in _BITS:
        raise LlmConfigError(f"quantization.qmode: this project cannot quantize to {qmode!r}")
    return int(match[2]), match[1] == "8da"


def _group_size(config: QuantizationConfig, bits: int) -> int:
    """Weights of a group; 0: one group a row, the default for 8 bits only."""
    if config.group_size is None:
        return 0 if bits == 8 else _DEFAULT_GROUP
    return config.group_size


def _fitting_layers(layers: Mapping[str, nn.Linear], size: int, skips: bool) -> set[str]:
    """Return the names of layers whose inputs `size` divides. Raises LlmConfigError for others, unless `skips`."""
    others = {name: layer.in_features for name, layer in layers.items() if size and layer.in_features % size}
    if others and (not skips or len(others) == len(layers)):
        name, inputs = next(iter(others.items()))
        raise LlmConfigError(f"quantization.group_size: {size} does not divide the {inputs} inputs of {name}")
    for name, inputs in others.items():
        logger.warning(
            "%s stays in float: quantization.group_size %d does not divide its %d inputs", name, size, inputs
        )
    return set(layers) - set(others)


@dataclass(frozen=True)
class GroupedIntegers:
    """A matrix of int8 values [rows, columns], each times the scale of its group, [rows, groups] in float32."""

    values: torch.Tensor
    scales: torch.Tensor
    bits: int

    @property
    def group_size(self) -> int:
        """Values of a group."""
        return self.values.shape[1] // self.scales.shape[1]

    def fit(self, bits: int, group_size: int) -> bool:
        """Return whether bits and group size are equal to these."""
        return (self.bits, self.group_size) == (bits, group_size)


_STORED = "grouped_integers"


def store_integers(model: nn.Module, integers: Mapping[str, GroupedIntegers]) -> None:
    """Record integers that a checkpoint has for embeddings of the model, whose values are integer times scale.

    A quantization to the same bits and groups uses them unchanged; any other one quantizes the values. Linear layers
    in 4 bits need positive scales, and those of Q4_0 have either sign: their integers cannot be kept.
    """
    for name, module in model.named_modules():
        if not isinstance(module, nn.Embedding):
            continue
        stored = integers.get(f"{name}.weight")
        if stored is not None:
            setattr(module, _STORED, stored)


class QuantizedEmbedding(nn.Module):
    """An embedding whose rows are integers with a scale for each group, looked up by `quantized_decomposed::…`.

    weight: [rows, channels * bits / 8], packed integers. scales: [rows], or [rows, groups]. Raises LlmConfigError if
    groups do not divide a row into whole bytes.
    """

    weight: torch.Tensor
    scales: torch.Tensor

    def __init__(self, embedding: nn.Embedding, bits: int, group_size: int, use_hqq: bool = True) -> None:
        super().__init__()
        rows = embedding.weight.detach().float()
        size = group_size or rows.shape[1]
        if rows.shape[1] % size or size % (8 // bits):
            raise LlmConfigError(
                f"quantization.embedding_quantize: groups of {size} do not fit rows of {rows.shape[1]} numbers"
            )
        self.bits, self.dtype = bits, embedding.weight.dtype
        self.quant_min, self.quant_max = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        stored: GroupedIntegers | None = getattr(embedding, _STORED, None)
        if stored is not None and stored.fit(bits, size):
            integers, scales = stored.values, stored.scales
            logger.info("an embedding keeps the checkpoint's %d-bit integers in groups of %d", bits, size)
        else:
            # A 4-bit output layer that shares these integers has the columns of each pair exchanged. Sums of errors in
            # another order would choose other scales.
            order = swap_pairs if bits == 4 else torch.Tensor.contiguous
            integers, scales = _rounded(order(rows), bits, size, use_hqq)
            integers = order(integers)
        self.register_buffer("weight", quantized.packed(integers, bits))
        self.register_buffer("scales", scales.squeeze(1) if scales.shape[1] == 1 else scales)

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        """The rows of the indices."""
        name = {2: "embedding_2bit", 4: "embedding_4bit", 8: "embedding_byte"}[self.bits]
        operator = getattr(torch.ops.quantized_decomposed, name)
        rows: torch.Tensor = operator.dtype(
            self.weight, self.scales, None, self.quant_min, self.quant_max, indices, dtype=self.dtype
        )
        return rows


def swap_pairs(x: torch.Tensor) -> torch.Tensor:
    """Exchange elements 2i and 2i + 1 of the last dimension."""
    pairs = x.unflatten(-1, (-1, 2))
    return torch.cat((pairs[..., 1:], pairs[..., :1]), dim=-1).flatten(-2)


def _rounded(rows: torch.Tensor, bits: int, size: int, use_hqq: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Integers and scales of a linear layer with these weights, so that it can share the embedding's."""
    from torchao.quantization import quantize_

    layer = nn.Linear(rows.shape[1], rows.shape[0], bias=False, device="meta")
    layer.weight = nn.Parameter(rows, requires_grad=False)
    quantize_(layer, _torchao_config(bits, size, False, use_hqq))
    quantized_weight: Any = layer.weight
    return quantized_weight.qdata, quantized_weight.scale


def quantize_embeddings(model: nn.Module, bits: int, group_size: int, use_hqq: bool = True) -> nn.Module:
    """Replace every embedding of the model, in place; return it. Raises LlmConfigError."""
    for name, child in model.named_children():
        if isinstance(child, nn.Embedding):
            setattr(model, name, QuantizedEmbedding(child, bits, group_size, use_hqq))
        else:
            quantize_embeddings(child, bits, group_size, use_hqq)
    return model
