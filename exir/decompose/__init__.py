# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decompositions of operators that PyTorch leaves whole, a module for each family."""
