# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Quantizers of exported decoders, by the names that configurations have for them."""

from __future__ import annotations

from dataclasses import dataclass

from torchao.quantization.pt2e.quantizer import Quantizer  # type: ignore[import-untyped]

from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)
from executorch.extension.llm.export.config.choices import Pt2eQuantize
from executorch.extension.llm.export.config.llm_config import LlmConfigError

__all__ = ["DynamicQuantLinearOptions", "PT2EQuantOptions", "get_pt2e_quantization_params", "get_pt2e_quantizers"]


@dataclass
class DynamicQuantLinearOptions:
    """Linear layers of int8 operands quantized at run time. is_qc4: weights have 4 bits, else 8."""

    is_per_channel: bool = True
    is_qc4: bool = False


@dataclass
class PT2EQuantOptions:
    """Options of the quantizers of a graph; None leaves the layers in float.

    quantize_embedding: always None; `quantization.embedding_quantize` quantizes embeddings.
    """

    quantize_embedding: None = None
    quantize_linear: DynamicQuantLinearOptions | None = None


def get_pt2e_quantization_params(
    pt2e_quantize: str | None = None, quantization_mode: str | None = None
) -> PT2EQuantOptions | None:
    """Return the options of a name of `Pt2eQuantize`, None for None.

    Raises LlmConfigError for another name, and where `quantization_mode` rewrites the linear layers already.
    """
    if pt2e_quantize is None:
        return None
    if quantization_mode is not None:
        raise LlmConfigError("quantization.qmode and quantization.pt2e_quantize exclude each other")
    known = [choice.value for choice in Pt2eQuantize]
    if pt2e_quantize not in known:
        raise LlmConfigError(f"quantization.pt2e_quantize: expected one of {', '.join(known)}, found {pt2e_quantize!r}")
    is_qc4 = pt2e_quantize == Pt2eQuantize.xnnpack_dynamic_qc4.value
    return PT2EQuantOptions(quantize_linear=DynamicQuantLinearOptions(is_qc4=is_qc4))


def get_pt2e_quantizers(quant_params: PT2EQuantOptions | None, so_library: str | None = None) -> list[Quantizer]:
    """Return the quantizers of the options. so_library: kernels of other backends; LlmConfigError unless None."""
    if so_library is not None:
        raise LlmConfigError("export.so_library: this project does not support it; leave it out")
    linear = None if quant_params is None else quant_params.quantize_linear
    if linear is None:
        return []
    quant_min, quant_max = (-8, 7) if linear.is_qc4 else (-127, 127)
    config = get_symmetric_quantization_config(
        is_per_channel=linear.is_per_channel, is_dynamic=True, weight_qmin=quant_min, weight_qmax=quant_max
    )
    return [XNNPACKQuantizer().set_global(config)]
