# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The benchmark's models in int8, by each engine's own quantizer.

Nets of convolutions have static activations, others dynamic ones; openvino's are static in both. Calibration uses
random data of the inputs' shapes, so the figures are only of time.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

_CALIBRATION_BATCHES = 2
Inputs = tuple[Any, ...]


def _is_static(model: Any) -> bool:
    """Patch embeddings of transformers are convolutions, too, but no batch norm follows them."""
    from torch import nn

    return any(isinstance(module, nn.BatchNorm2d) for module in model.modules()) or isinstance(model, nn.Conv2d)


def _batches(inputs: Inputs) -> Iterator[Inputs]:
    """Inputs to calibrate with: integers stay, because they are token ids and masks."""
    import torch

    for _ in range(_CALIBRATION_BATCHES):
        yield tuple(torch.randn_like(x) if x.is_floating_point() else x for x in inputs)


def torchao_model(model: Any, inputs: Inputs) -> Any:
    """The module that PyTorch's flow with XNNPACKQuantizer gives, for us and the peer."""
    from torch.export import export
    from torchao.quantization.pt2e import move_exported_model_to_eval  # type: ignore[import-untyped]
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e  # type: ignore[import-untyped]

    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )

    config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=not _is_static(model))
    prepared = prepare_pt2e(export(model, inputs).module(), XNNPACKQuantizer().set_global(config))
    for batch in _batches(inputs):
        prepared(*batch)
    return move_exported_model_to_eval(convert_pt2e(prepared))


def onnxruntime_file(model: Any, inputs: Inputs, path: Path) -> Path:
    """The quantized ONNX file beside the float32 one."""
    import onnxruntime
    from onnxruntime.quantization import (
        CalibrationDataReader,
        QuantFormat,
        QuantType,
        quantize_dynamic,
        quantize_static,
    )

    names = [x.name for x in onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).get_inputs()]

    class Batches(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self.left = _batches(inputs)

        def get_next(self) -> dict[str, Any] | None:
            batch = next(self.left, None)
            return batch and {name: x.numpy() for name, x in zip(names, batch, strict=True)}

    to = path.with_name("int8.onnx")
    if _is_static(model):
        types = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
        quantize_static(str(path), str(to), Batches(), quant_format=QuantFormat.QDQ, per_channel=True, **types)
    else:
        quantize_dynamic(str(path), str(to), weight_type=QuantType.QInt8, per_channel=True)
    return to


def openvino_model(model: Any, inputs: Inputs, path: str) -> Any:
    """The float32 ONNX file, quantized by NNCF."""
    import nncf
    import openvino

    batches = nncf.Dataset([[x.numpy() for x in batch] for batch in _batches(inputs)])
    kind = None if _is_static(model) else nncf.ModelType.TRANSFORMER
    preset = nncf.QuantizationPreset.MIXED
    return nncf.quantize(
        openvino.convert_model(path), batches, subset_size=_CALIBRATION_BATCHES, preset=preset, model_type=kind
    )
