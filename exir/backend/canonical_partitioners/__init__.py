# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Documented partitioners and tools for writing one."""
