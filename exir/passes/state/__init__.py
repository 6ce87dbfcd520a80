# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Buffers that a method writes, and weights outside the program file."""
