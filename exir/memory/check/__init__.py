# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Checks of a finished plan: by the tensors' lifespans, by symbolic execution, and the documented queries."""
