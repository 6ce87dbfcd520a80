# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Sizes of a model's weights and delegates."""
