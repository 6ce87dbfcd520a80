# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Quantized models, from the quantizer or torchao to their results."""
