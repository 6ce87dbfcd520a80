# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Documented utilities."""
