# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A small model of every module of timm, with random weights and a small image."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from models.timm_models import without_torchvision
from torch import nn

from ..case import Arguments, CannotBuild, Case, Example
from ..rule import Rule

_SIDES = (64, 96, 128, 160, 192, 224, 256, 299, 384, 448, 512, 1024)
_PATCHES = (16, 14, 32)  # sizes of a patch in pixels, for models whose image's size is an option
_MAX_WEIGHTS = 120_000_000
# Words of timm's names for small models, the smallest first. Models with none of them come last.
_SMALL = ("test", "atto", "femto", "pico", "nano", "xxs", "xxtiny", "tiny", "ti", "xs", "mini", "small", "s", "lite")
_MAX_COUNTED = 10  # models of a module whose weights are counted, at 0.15 s each; vision_transformer has 350


def cases(rule: Rule) -> Iterator[Case]:
    with without_torchvision():
        import timm

        for module in timm.list_modules():
            if names := timm.list_models(module=module):
                yield Case("timm", module, partial(_make, module, tuple(names), rule), rule)


def _make(module: str, names: tuple[str, ...], rule: Rule) -> Example:
    with without_torchvision():
        import timm

        lightest = sorted(sorted(names, key=_by_name)[:_MAX_COUNTED], key=lambda one: (_weights(one), one))
        name = lightest[min(rule.rank, len(lightest) - 1)]
        if _weights(name) > _MAX_WEIGHTS:
            raise CannotBuild(f"the smallest model of {module}, {name}, has {_weights(name)} weights")
        fixed = timm.get_pretrained_cfg(name, allow_unregistered=True)
        torch.manual_seed(rule.seed)
        model = timm.create_model(name, pretrained=False).eval()
        own = fixed.input_size[-1] if fixed is not None else 224
        for options, (height, width) in _images(rule, own):
            try:
                resized = timm.create_model(name, pretrained=False, **options).eval() if options else model
                resized(torch.randn(rule.batch, 3, height, width))
            except (RuntimeError, AssertionError, ValueError, TypeError):
                continue  # the model refuses this size, or has no option for it
            return _example(name, resized, options, (height, width), rule)
    raise CannotBuild(f"{name} takes no image of {_SIDES[0]} to {own} pixels")


def _images(rule: Rule, own: int) -> Iterator[tuple[dict[str, Any], tuple[int, int]]]:
    """Yield options of the model with the sizes of an image that it may take, in the order to try. own: what its
    authors chose."""
    if rule.patches:
        yield {}, rule.image
        for patch in _PATCHES:
            size = (rule.patches[0] * patch, rule.patches[1] * patch)
            yield {"img_size": size}, size
    for side in sorted({*_SIDES, own}):
        if side <= own:
            yield {}, (side, side)


def _example(name: str, model: nn.Module, options: dict[str, Any], image: tuple[int, int], rule: Rule) -> Example:
    def batched(size: int) -> Arguments:
        return (torch.randn(size, 3, *image),), {}

    text = "".join(f", {key}={value}" for key, value in options.items())
    return Example(
        model,
        *batched(rule.batch),
        batched=batched,
        reproduction=f"timm.create_model({name!r}{text}).eval()(torch.randn({rule.batch}, 3, {image[0]}, {image[1]}))",
    )


def _by_name(name: str) -> tuple[int, int, str]:
    """Order names by the size that they state, then the shortest first."""
    words = re.split(r"[_\W]|(?<=[a-z])(?=\d)", name)
    return next((rank for rank, word in enumerate(_SMALL) if word in words), len(_SMALL)), len(name), name


_counted: dict[str, int] = {}


def _weights(name: str) -> int:
    """Return the number of weights of a model without allocating them."""
    import timm

    if name not in _counted:
        try:
            with torch.device("meta"):
                _counted[name] = sum(one.numel() for one in timm.create_model(name, pretrained=False).parameters())
        except Exception:  # noqa: BLE001  # it needs values of its weights to be made
            _counted[name] = 1 << 60
    return _counted[name]
