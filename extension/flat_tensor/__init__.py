# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Data files (`.ptd`): named tensors beside a program."""
