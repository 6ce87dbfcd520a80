# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Fuse and check quantize and dequantize nodes."""
