# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The values of options of an export that have a fixed set of names."""

from __future__ import annotations

from enum import Enum


class ModelType(str, Enum):
    """Names of the decoders."""

    stories110m = "stories110m"
    llama2 = "llama2"
    llama3 = "llama3"
    llama3_1 = "llama3_1"
    llama3_2 = "llama3_2"
    llama3_2_vision = "llama3_2_vision"
    static_llama = "static_llama"
    qwen2_5_0_5b = "qwen2_5_0_5b"
    qwen2_5_1_5b = "qwen2_5_1_5b"
    qwen2_5_coder_32b = "qwen2_5_coder_32b"
    qwen3_0_6b = "qwen3_0_6b"
    qwen3_1_7b = "qwen3_1_7b"
    qwen3_4b = "qwen3_4b"
    qwen3_5_0_8b = "qwen3_5_0_8b"
    qwen3_5_2b = "qwen3_5_2b"
    qwen3_5_4b = "qwen3_5_4b"
    phi_4_mini = "phi_4_mini"
    smollm2 = "smollm2"
    lfm2_350m = "lfm2_350m"
    lfm2_700m = "lfm2_700m"
    lfm2_1_2b = "lfm2_1_2b"
    lfm2_5_350m = "lfm2_5_350m"
    lfm2_5_1_2b = "lfm2_5_1_2b"


class PreqMode(str, Enum):
    """Kinds of checkpoints that are quantized already."""

    preq_8da4w = "8da4w"
    preq_8da4w_out_8da8w = "8da4w_output_8da8w"


class DtypeOverride(str, Enum):
    """The dtype of weights and activations, or of caches."""

    fp32 = "fp32"
    fp16 = "fp16"
    bf16 = "bf16"


class QuantizeScope(str, Enum):
    """Layers that the quantizers of Arm's backends quantize. The export supports `full`, the default."""

    full = "full"
    linear = "linear"


class Pt2eQuantize(str, Enum):
    """Quantizers of exported graphs."""

    xnnpack_dynamic = "xnnpack_dynamic"
    xnnpack_dynamic_qc4 = "xnnpack_dynamic_qc4"
