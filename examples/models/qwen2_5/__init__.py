# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Qwen 2.5: sizes of its models, and the conversion of its checkpoints."""
