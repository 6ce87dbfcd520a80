# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Phi-4-mini: sizes of its models, and the conversion of its checkpoints."""
