# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Report on the layers of a quantized model, and search for layers to keep in float."""

from executorch.devtools.quantization.report import InFloat, LayerReport, QuantizationReport, quantization_report
from executorch.devtools.quantization.sensitivity import Sensitivity, leave_sensitive_layers_in_float

__all__ = [
    "InFloat",
    "LayerReport",
    "QuantizationReport",
    "Sensitivity",
    "leave_sensitive_layers_in_float",
    "quantization_report",
]
