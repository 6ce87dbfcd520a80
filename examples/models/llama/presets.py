# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Sizes of published models, as `params.json` files of this package."""

from __future__ import annotations

from pathlib import Path

from executorch.extension.llm.export.config.choices import ModelType

_FOLDER = Path(__file__).parent.parent
_FILES = {
    ModelType.qwen2_5_0_5b: "qwen2_5/config/0_5b_config.json",
    ModelType.qwen2_5_1_5b: "qwen2_5/config/1_5b_config.json",
    ModelType.qwen2_5_coder_32b: "qwen2_5/config/coder_32b_config.json",
    ModelType.qwen3_0_6b: "qwen3/config/0_6b_config.json",
    ModelType.qwen3_1_7b: "qwen3/config/1_7b_config.json",
    ModelType.qwen3_4b: "qwen3/config/4b_config.json",
    ModelType.phi_4_mini: "phi_4_mini/config/config.json",
    ModelType.smollm2: "smollm2/135M_config.json",
    ModelType.lfm2_350m: "lfm2/config/lfm2_350m_config.json",
    ModelType.lfm2_700m: "lfm2/config/lfm2_700m_config.json",
    ModelType.lfm2_1_2b: "lfm2/config/lfm2_1_2b_config.json",
    ModelType.lfm2_5_350m: "lfm2/config/lfm2_5_350m_config.json",
    ModelType.lfm2_5_1_2b: "lfm2/config/lfm2_5_1_2b_config.json",
}


def params_of(model_class: ModelType) -> Path | None:
    """Return the file with the sizes of a model; None for names that models of several sizes share."""
    name = _FILES.get(model_class)
    return None if name is None else _FOLDER / name
