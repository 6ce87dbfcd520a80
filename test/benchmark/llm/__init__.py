# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Benchmark of language models: shapes, checkpoints, one worker an engine, report."""
