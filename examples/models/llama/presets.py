# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Published models: their sizes, as `params.json` files of this package, and their weights on the Hugging Face Hub."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from executorch.extension.llm.export.config.choices import ModelType
from executorch.extension.llm.export.config.llm_config import LlmConfigError

_FOLDER = Path(__file__).parent.parent


@dataclass(frozen=True)
class _Published:
    """A published model.

    params: file of the sizes, below examples/models. repository: of the weights.
    """

    params: str
    repository: str


_MODELS = {
    ModelType.qwen2_5_0_5b: _Published("qwen2_5/config/0_5b_config.json", "Qwen/Qwen2.5-0.5B"),
    ModelType.qwen2_5_1_5b: _Published("qwen2_5/config/1_5b_config.json", "Qwen/Qwen2.5-1.5B"),
    ModelType.qwen2_5_coder_32b: _Published("qwen2_5/config/coder_32b_config.json", "Qwen/Qwen2.5-Coder-32B-Instruct"),
    ModelType.qwen3_0_6b: _Published("qwen3/config/0_6b_config.json", "Qwen/Qwen3-0.6B"),
    ModelType.qwen3_1_7b: _Published("qwen3/config/1_7b_config.json", "Qwen/Qwen3-1.7B"),
    ModelType.qwen3_4b: _Published("qwen3/config/4b_config.json", "Qwen/Qwen3-4B"),
    ModelType.phi_4_mini: _Published("phi_4_mini/config/config.json", "microsoft/Phi-4-mini-instruct"),
    ModelType.smollm2: _Published("smollm2/135M_config.json", "HuggingFaceTB/SmolLM2-135M"),
    ModelType.lfm2_350m: _Published("lfm2/config/lfm2_350m_config.json", "LiquidAI/LFM2-350M"),
    ModelType.lfm2_700m: _Published("lfm2/config/lfm2_700m_config.json", "LiquidAI/LFM2-700M"),
    ModelType.lfm2_1_2b: _Published("lfm2/config/lfm2_1_2b_config.json", "LiquidAI/LFM2-1.2B"),
    ModelType.lfm2_5_350m: _Published("lfm2/config/lfm2_5_350m_config.json", "LiquidAI/LFM2.5-350M"),
    ModelType.lfm2_5_1_2b: _Published("lfm2/config/lfm2_5_1_2b_config.json", "LiquidAI/LFM2.5-1.2B-Instruct"),
}


def params_of(model_class: ModelType) -> Path | None:
    """Return the file with the sizes of a model; None for names that models of several sizes share."""
    model = _MODELS.get(model_class)
    return None if model is None else _FOLDER / model.params


def download(model_class: ModelType) -> Path | None:
    """Return the folder of a model's weights, from the local cache or the Hub; None for a model without a repository.

    Raises LlmConfigError if the weights are neither in the cache nor to be downloaded.
    """
    model = _MODELS.get(model_class)
    if model is None:
        return None
    try:
        import huggingface_hub

        return Path(huggingface_hub.snapshot_download(model.repository, allow_patterns=["*.safetensors", "*.json"]))
    except (ImportError, OSError, ValueError) as error:
        raise LlmConfigError(
            f"base.checkpoint: expected the folder of {model_class.value}, because {model.repository} cannot be "
            f"downloaded: {type(error).__name__}: {error}"
        ) from error
