# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""From ATen to Core ATen (`decomposition`). `operators` has a module for each family that PyTorch leaves whole."""
