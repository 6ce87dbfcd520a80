# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Passes on quantize, dequantize and quantized constants."""
