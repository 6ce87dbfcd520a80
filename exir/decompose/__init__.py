# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decompose ATen to Core ATen (`decomposition`). `operators` has a module for each family of operators."""
