# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A custom operator: its definition for PyTorch, and its kernel for the device."""
