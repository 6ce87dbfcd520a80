# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Benchmarks: every figure is a ratio to something measured in the same run."""
