# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Tensor specs, upper bounds of sizes, out variants and the memory plan."""
