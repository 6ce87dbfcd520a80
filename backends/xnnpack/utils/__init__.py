# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Documented names of ExecuTorch's `backends.xnnpack.utils`."""
