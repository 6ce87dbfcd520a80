# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Whole models and programs, compared with eager PyTorch."""
