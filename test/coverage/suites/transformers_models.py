# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A small model of every configuration class of transformers, and causal models with a static cache."""

from __future__ import annotations

import importlib
import inspect
import logging
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import nn

from ..case import Arguments, CannotBuild, Case, Example, FlatOutputs
from ..rule import Rule
from .inputs import Choice, choices, unknown
from .shrink import Level, levels, shrunk

# The first mapping with an entry for the configuration gives its model class.
_HEADS = (
    *("CAUSAL_LM", "SEQ_TO_SEQ_CAUSAL_LM", "SPEECH_SEQ_2_SEQ", "CTC", "MASKED_LM", "IMAGE_CLASSIFICATION"),
    *("OBJECT_DETECTION", "UNIVERSAL_SEGMENTATION", "SEMANTIC_SEGMENTATION", "DEPTH_ESTIMATION", "KEYPOINT_DETECTION"),
    *("IMAGE_TO_IMAGE", "VIDEO_CLASSIFICATION", "AUDIO_CLASSIFICATION", "TEXT_TO_WAVEFORM", "TIME_SERIES_PREDICTION"),
)
_MAX_WEIGHTS = 200_000_000
_CACHE_LENGTH = 32


# Modules that models of transformers import. A process forked from one that has imported them saves 0.7 s.
_IMPORTED_BY_MODELS = (
    *("generation", "generation.utils", "integrations.executorch", "masking_utils", "modeling_layers"),
    *("modeling_utils", "processing_utils", "utils.output_capturing"),
)


def _library() -> Any:
    """Import transformers without the warnings about torchao's libraries for other machines."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import transformers

        for name in _IMPORTED_BY_MODELS:
            importlib.import_module(f"transformers.{name}")
    transformers.logging.set_verbosity_error()
    logging.getLogger("transformers").setLevel(logging.ERROR)
    return transformers


def cases(rule: Rule) -> Iterator[Case]:
    _library()
    from transformers.models.auto import modeling_auto
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    causal = modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    for name in CONFIG_MAPPING_NAMES:
        yield Case("transformers", name, partial(_make, name, rule), rule)
    for name in causal:
        yield Case("transformers", f"{name}+static_cache", partial(_with_cache, name, rule), rule)


def _make(kind: str, rule: Rule) -> Example:
    model, choice, config = _model(kind, rule)
    torch.manual_seed(rule.seed)
    arguments = choice.arguments(model, rule.batch, rule.tokens)

    def batched(size: int) -> Arguments:
        return (), choice.arguments(model, size, rule.tokens)

    def lengthened(size: int) -> Arguments:
        return (), choice.arguments(model, rule.batch, size)

    shapes = {name: tuple(one.shape) for name, one in arguments.items() if isinstance(one, torch.Tensor)}
    return Example(
        FlatOutputs(model),
        (),
        arguments,
        batched,
        lengthened,
        f"{type(model).__name__}({config}), called with {shapes}",
    )


def _with_cache(kind: str, rule: Rule) -> Example:
    """One token into a cache of a fixed length, as transformers' own exports do it."""
    from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

    model, _, config = _model(kind, rule)
    model.generation_config = _library().GenerationConfig(
        use_cache=True,
        cache_implementation="static",
        max_length=_CACHE_LENGTH,
        cache_config={"batch_size": 1, "max_cache_len": _CACHE_LENGTH},
    )
    model.config.use_cache = True
    try:
        module = TorchExportableModuleWithStaticCache(model)
    except Exception as error:
        raise CannotBuild(f"transformers gives {type(model).__name__} no static cache: {error}") from error
    arguments = {"input_ids": torch.tensor([[7]]), "cache_position": torch.tensor([0])}
    return Example(
        module,
        (),
        arguments,
        reproduction=f"TorchExportableModuleWithStaticCache({type(model).__name__}({config}))",
    )


def _model(kind: str, rule: Rule) -> tuple[nn.Module, Choice, str]:
    """Return a small model of this kind, arguments that eager accepts, and the sizes as text."""
    library = _library()
    config_class = library.models.auto.configuration_auto.CONFIG_MAPPING[kind]
    reasons: list[str] = []
    classes: list[type[nn.Module]] = []
    for one in _model_classes(kind, config_class):
        if names := unknown(one):
            reasons.append(f"{one.__name__}: no rule makes {', '.join(names)}")
        else:
            classes.append(one)
    for level in levels(rule):
        for make_config in (_config_of_dict, _config_in_place):
            try:
                config = make_config(config_class, level)
            except Exception as error:  # noqa: BLE001  # the other way or the next level may do
                reasons.append(f"{level.name}: {type(error).__name__}: {error}")
                continue
            for model_class in classes:
                try:
                    return _working(model_class, config, rule)
                except Exception as error:  # noqa: BLE001  # another class or level may do
                    reasons.append(f"{level.name}, {model_class.__name__}: {type(error).__name__}: {error}")
            break
    raise CannotBuild(" | ".join(" ".join(one.split())[:160] for one in reasons) or "transformers has no model of it")


def _config_of_dict(config_class: type, level: Level) -> Any:
    return config_class.from_dict(shrunk(config_class().to_dict(), level))  # type: ignore[attr-defined]


def _config_in_place(config_class: type, level: Level) -> Any:
    """The configuration changed attribute by attribute, for classes whose `from_dict` refuses their `to_dict`."""
    config = config_class()
    _assign(config, shrunk(config.to_dict(), level))
    return config


def _assign(config: Any, values: dict[str, Any]) -> None:
    for name, value in values.items():
        inside = getattr(config, name, None)
        if isinstance(value, dict) and hasattr(inside, "to_dict"):
            _assign(inside, value)
        elif name != "model_type" and inside != value:
            setattr(config, name, value)


def _config_for(model_class: type[nn.Module], config: Any) -> Any:
    """The configuration that the model takes: this one, or the one of its class inside it."""
    wanted = getattr(model_class, "config_class", None)
    if wanted is None or isinstance(config, wanted):
        return config
    return next((one for one in vars(config).values() if isinstance(one, wanted)), config)


def _working(model_class: type[nn.Module], given: Any, rule: Rule) -> tuple[nn.Module, Choice, str]:
    config = _config_for(model_class, given)
    with torch.device("meta"):
        weights = sum(one.numel() for one in model_class(config).parameters())
    if weights > _MAX_WEIGHTS:
        raise CannotBuild(f"{weights} weights")
    torch.manual_seed(rule.seed)
    model = model_class(config).eval()
    for weight in model.parameters():
        is_flat = weight.dim() > 1 and bool((weight == weight.flatten()[0]).all())
        if is_flat or not torch.isfinite(weight).all():
            # The weights are zeros that only training changes (experts would tie), or torch.empty without values.
            nn.init.normal_(weight, std=0.02)
    failed: Exception | None = None
    for choice in choices(model, rule):
        torch.manual_seed(rule.seed)
        try:
            with torch.no_grad():
                model(**choice.arguments(model, rule.batch, rule.tokens))
        except Exception as error:  # noqa: BLE001  # other arguments may do
            failed = failed or error
            continue
        return model, choice, _sizes(config)
    raise failed or CannotBuild("its forward needs arguments that the generic rule does not make")


def _sizes(config: Any) -> str:
    changed = config.to_diff_dict()
    names = [one for one in changed if one not in ("transformers_version", "model_type", "architectures", "dtype")]
    return f"{type(config).__name__}({', '.join(f'{one}={changed[one]!r}' for one in names)})"[:700]


def _model_classes(kind: str, config_class: type) -> Iterator[type[nn.Module]]:
    """Yield model classes of the configuration: those with a head, then those without a head, then all others."""
    library = _library()
    from transformers.models.auto import modeling_auto

    tables = [getattr(modeling_auto, f"MODEL_FOR_{head}_MAPPING_NAMES", {}) for head in _HEADS]
    found: list[type[nn.Module]] = []
    for names in (*tables, modeling_auto.MODEL_MAPPING_NAMES):
        given = names.get(kind, ())
        found += [
            getattr(library, one) for one in ((given,) if isinstance(given, str) else given) if hasattr(library, one)
        ]
    yield from dict.fromkeys(found)
    try:
        module = importlib.import_module(config_class.__module__.replace(".configuration_", ".modeling_"))
    except ImportError:
        return  # the configuration is a part of another model's
    members = [one for _, one in inspect.getmembers(module, inspect.isclass)]
    models = [one for one in members if issubclass(one, library.PreTrainedModel) and one.config_class is config_class]
    yield from (one for one in models if not one.__name__.endswith("PreTrainedModel") and one not in found)
