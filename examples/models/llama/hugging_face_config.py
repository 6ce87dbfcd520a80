# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Arguments of ModelArgs from a `config.json` of Hugging Face."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


class ModelArgsError(ValueError):
    """A configuration does not describe a supported decoder."""


# Hugging Face's name → ours.
_SIZES = {
    "hidden_size": "dim",
    "num_hidden_layers": "n_layers",
    "num_attention_heads": "n_heads",
    "num_key_value_heads": "n_kv_heads",
    "vocab_size": "vocab_size",
    "intermediate_size": "hidden_dim",
    "head_dim": "head_dim",
    "rms_norm_eps": "norm_eps",
    "norm_eps": "norm_eps",
    "rope_theta": "rope_theta",
    "partial_rotary_factor": "partial_rotary_factor",
    "original_max_position_embeddings": "original_max_position_embeddings",
    "max_position_embeddings": "max_position_embeddings",
    "tie_word_embeddings": "tie_word_embeddings",
    "bos_token_id": "bos_idx",
}
# Model types that tie the output layer to the embedding unless config.json says otherwise.
_TIED = ("gemma3_text", "lfm2", "smollm3")


def args_of_config(path: str | Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that a configuration names. Raises ModelArgsError."""
    if config.get("model_type") == "gemma3":
        return args_of_config(path, {**_table(path, config, "text_config"), "model_type": "gemma3_text"})
    kind = config.get("model_type")
    if kind not in _FAMILIES:
        raise ModelArgsError(f"{path}: model_type: expected one of {', '.join(sorted(_FAMILIES))}, found {kind!r}")
    missing = [name for name in ("hidden_size", "num_hidden_layers", "num_attention_heads") if name not in config]
    if missing:
        raise ModelArgsError(f"{path}: expected {', '.join(missing)}")
    arguments = {field: config[key] for key, field in _SIZES.items() if config.get(key) is not None}
    arguments.setdefault("tie_word_embeddings", kind in _TIED)
    eos = config.get("eos_token_id")
    eos = eos[0] if isinstance(eos, list) and eos else eos
    if isinstance(eos, int):
        arguments["eos_idx"] = eos
    arguments["use_hf_rope"] = True
    arguments["attention_qkv_bias"] = bool(config.get("attention_bias", False))
    arguments |= _activation(path, config) | _FAMILIES[kind](path, config)
    return arguments | _rope_scaling(path, config)


def _table(path: str | Path, config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = config.get(name) or {}
    if not isinstance(table, Mapping):
        raise ModelArgsError(f"{path}: {name}: expected a JSON object, found {table!r}")
    return table


def _activation(path: str | Path, config: Mapping[str, Any]) -> dict[str, Any]:
    name = config.get("hidden_activation") or config.get("hidden_act") or "silu"
    if name not in ("silu", "gelu_pytorch_tanh"):
        raise ModelArgsError(f"{path}: hidden_act: expected silu or gelu_pytorch_tanh, found {name!r}")
    return {"act_fn": name}


def _windows(path: str | Path, config: Mapping[str, Any], first: int = 0) -> dict[str, Any]:
    """A window in the layers that `layer_types` names, otherwise in all from layer `first` on."""
    window = config.get("sliding_window")
    if window is None:
        return {}
    layers = config["num_hidden_layers"]
    kinds = config.get("layer_types") or [
        "sliding_attention" if i >= first else "full_attention" for i in range(layers)
    ]
    return {"sliding_window": window, "layer_types": list(kinds)}


def _late_windows(path: str | Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """Windows of Qwen, where they are switched on: in the layers from `max_window_layers` on."""
    return _windows(path, config, config.get("max_window_layers", 28)) if config.get("use_sliding_window") else {}


def _llama(path: str | Path, config: Mapping[str, Any]) -> dict[str, Any]:
    if config.get("mlp_bias"):
        raise ModelArgsError(f"{path}: mlp_bias: expected false, found {config['mlp_bias']!r}")
    return {}


def _smollm3(path: str | Path, config: Mapping[str, Any]) -> dict[str, Any]:
    layers, every = config["num_hidden_layers"], config.get("no_rope_layer_interval", 4)
    # Despite its name, no_rope_layers has 1 for layers with rotary embedding.
    rotated = config.get("no_rope_layers") or [(i + 1) % every != 0 for i in range(layers)]
    arguments = {"rotated_layers": [bool(value) for value in rotated], "rope_theta": config.get("rope_theta", 2e6)}
    if config.get("use_sliding_window") and config.get("sliding_window") is not None:
        kinds = ["full_attention" if value else "sliding_attention" for value in rotated]
        arguments |= {
            "sliding_window": config["sliding_window"],
            "layer_types": list(config.get("layer_types") or kinds),
        }
    return _llama(path, config) | arguments


def _qwen2(path: str | Path, config: Mapping[str, Any]) -> dict[str, Any]:
    return {"attention_qkv_bias": bool(config.get("attention_bias", True)), **_late_windows(path, config)}


def _qwen3(path: str | Path, config: Mapping[str, Any]) -> dict[str, Any]:
    return {"use_qk_norm": True, "qk_norm_before_rope": True, **_late_windows(path, config)}


def _qwen3_moe(path: str | Path, config: Mapping[str, Any]) -> dict[str, Any]:
    layers, step = config["num_hidden_layers"], config.get("decoder_sparse_step", 1)
    dense = set(config.get("mlp_only_layers") or [])
    kinds = ["dense" if i in dense or (i + 1) % step else "moe" for i in range(layers)]
    windows = _windows(path, config) if config.get("use_sliding_window") else {}
    return {
        "use_qk_norm": True,
        "qk_norm_before_rope": True,
        "mlp_type": kinds,
        "num_experts": config.get("num_experts", config.get("num_local_experts", 128)),
        "num_activated_experts": config.get("num_experts_per_tok", 8),
        "moe_hidden_dim": config.get("moe_intermediate_size", 768),
        "moe_normalize_weights": bool(config.get("norm_topk_prob", False)),
        **windows,
    }


def _mixtral(path: str | Path, config: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "moe": True,
        "num_experts": config.get("num_local_experts", 8),
        "num_activated_experts": config.get("num_experts_per_tok", 2),
        **_windows(path, config),
    }


def _gemma3(path: str | Path, config: Mapping[str, Any]) -> dict[str, Any]:
    for name in ("attn_logit_softcapping", "use_bidirectional_attention"):
        if config.get(name):
            raise ModelArgsError(f"{path}: {name}: expected none, found {config[name]!r}")
    layers, window = config["num_hidden_layers"], config.get("sliding_window", 4096)
    every = config.get("sliding_window_pattern", config.get("_sliding_window_pattern", 6))
    kinds = ["full_attention" if (i + 1) % every == 0 else "sliding_attention" for i in range(layers)]
    channels = config.get("head_dim", 256)
    scalar = config.get("query_pre_attn_scalar", 256)
    return {
        "act_fn": config.get("hidden_activation") or "gelu_pytorch_tanh",
        "head_dim": channels,
        "norm_eps": config.get("rms_norm_eps", 1e-6),
        "sliding_window": window,
        "layer_types": list(config.get("layer_types") or kinds),
        "use_qk_norm": True,
        "qk_norm_before_rope": True,
        "rms_norm_add_unit_offset": True,
        "post_attention_norm": True,
        "post_ffn_norm": True,
        "attention_multiplier": None if scalar == channels else float(scalar**-0.5),
        "embedding_scale_factor": config["hidden_size"] ** 0.5,
        "final_logit_softcapping": config.get("final_logit_softcapping"),
        "rope_theta": config.get("rope_theta", 1e6),
        "local_rope_theta": config.get("rope_local_base_freq", 1e4),
    }


def _lfm2(path: str | Path, config: Mapping[str, Any]) -> dict[str, Any]:
    layers, attends = config["num_hidden_layers"], config.get("full_attn_idxs")
    attends = range(layers) if attends is None else attends
    kinds = config.get("layer_types") or ["full_attention" if i in attends else "conv" for i in range(layers)]
    hidden = config.get("block_ff_dim", config.get("intermediate_size", 12288))
    if config.get("block_auto_adjust_ff_dim", True):
        hidden = int(2 * hidden / 3)
        multiplier = config.get("block_ffn_dim_multiplier", 1.0)
        if multiplier is not None:
            multiple = config.get("block_multiple_of", 256)
            hidden = -(-int(multiplier * hidden) // multiple) * multiple
    return {
        "hidden_dim": hidden,
        "layer_types": list(kinds),
        "use_qk_norm": True,
        "qk_norm_before_rope": True,
        "conv_kernel_size": config.get("conv_L_cache", 3),
        "conv_bias": bool(config.get("conv_bias", False)),
        "tie_word_embeddings": config.get("tie_embedding", config.get("tie_word_embeddings", True)),
        "rope_theta": config.get("rope_theta", config.get("theta", 1e6)),
    }


_FAMILIES: dict[Any, Callable[[str | Path, Mapping[str, Any]], dict[str, Any]]] = {
    "gemma3_text": _gemma3,
    "lfm2": _lfm2,
    "llama": _llama,
    "mistral": _windows,
    "mixtral": _mixtral,
    "phi3": _windows,
    "qwen2": _qwen2,
    "qwen3": _qwen3,
    "qwen3_moe": _qwen3_moe,
    "smollm": _llama,
    "smollm3": _smollm3,
}


def _rope_scaling(path: str | Path, config: Mapping[str, Any]) -> dict[str, Any]:
    # transformers 5 has all of it in rope_parameters.
    parameters = _table(path, config, "rope_parameters") or _table(path, config, "rope_scaling")
    arguments: dict[str, Any] = {}
    if "full_attention" in parameters or "sliding_attention" in parameters:
        local = _table(path, parameters, "sliding_attention")
        if local.get("rope_type", "default") != "default":
            raise ModelArgsError(f"{path}: rope_type of sliding_attention: expected default, found {local!r}")
        if "rope_theta" in local:
            arguments["local_rope_theta"] = local["rope_theta"]
        parameters = _table(path, parameters, "full_attention")
    names = ("rope_theta", "partial_rotary_factor", "original_max_position_embeddings")
    arguments |= {name: parameters[name] for name in names if parameters.get(name) is not None}
    kind = parameters.get("rope_type", parameters.get("type", "default"))
    if kind not in _SCALINGS:
        raise ModelArgsError(f"{path}: rope_type: expected one of {', '.join(sorted(_SCALINGS))}, found {kind!r}")
    try:
        return arguments | _SCALINGS[kind](parameters)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelArgsError(f"{path}: parameters of rope_type {kind}: {error!r}") from error


def _llama3(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "use_scaled_rope": True,
        "rope_scale_factor": float(parameters["factor"]),
        "low_freq_factor": float(parameters["low_freq_factor"]),
        "high_freq_factor": float(parameters["high_freq_factor"]),
        "original_max_position": int(parameters["original_max_position_embeddings"]),
    }


def _longrope(parameters: Mapping[str, Any]) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "rope_scaling_short_factor": [float(factor) for factor in parameters["short_factor"]],
        "rope_scaling_long_factor": [float(factor) for factor in parameters["long_factor"]],
    }
    if parameters.get("attention_factor") is not None:
        arguments["rope_scaling_attention_factor"] = float(parameters["attention_factor"])
    return arguments


def yarn_magnitude(factor: float, weight: float = 1.0) -> float:
    """Return YaRN's factor of cosines and sines for a scaling; `weight` is DeepSeek's mscale."""
    return 0.1 * weight * math.log(factor) + 1 if factor > 1 else 1.0


def _yarn(parameters: Mapping[str, Any]) -> dict[str, Any]:
    factor, weights = float(parameters["factor"]), [parameters.get(name) for name in ("mscale", "mscale_all_dim")]
    arguments: dict[str, Any] = {
        "yarn_factor": factor,
        "yarn_beta_fast": float(parameters.get("beta_fast") or 32),
        "yarn_beta_slow": float(parameters.get("beta_slow") or 1),
        "yarn_rounds_range": bool(parameters.get("truncate", True)),
    }
    if parameters.get("attention_factor") is not None:
        arguments["rope_scaling_attention_factor"] = float(parameters["attention_factor"])
    elif all(weights):
        of_scores, of_all = (yarn_magnitude(factor, float(weight)) for weight in weights if weight)
        arguments["rope_scaling_attention_factor"] = of_scores / of_all
    return arguments


_SCALINGS: dict[Any, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "default": lambda parameters: {},
    "dynamic": lambda parameters: {"rope_is_dynamic": True},
    "linear": lambda parameters: {"rope_linear_factor": float(parameters["factor"])},
    "llama3": _llama3,
    "longrope": _longrope,
    "su": _longrope,
    "yarn": _yarn,
}
