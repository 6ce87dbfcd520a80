# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Quantization of the example models for XNNPACK."""
