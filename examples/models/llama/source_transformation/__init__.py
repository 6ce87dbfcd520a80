# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Rewrites of decoders before export: caches, attention, quantization."""
