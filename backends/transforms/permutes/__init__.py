# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Passes on transposes and permutes."""
