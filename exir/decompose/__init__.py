# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""From ATen to Core ATen (`decomposition`), with a module for each family of operators that PyTorch leaves whole."""
