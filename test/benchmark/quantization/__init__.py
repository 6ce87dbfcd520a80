# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Benchmark of quantized models: accuracy, size and speed."""
