# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Lowering of a partition to an XNNPACK graph: values, layouts, quantization, fusion."""
