# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""What quantizing a model did to each of its layers, and which of them to leave in float."""

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
