# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Helpers for rewriting graphs: nodes, values, constants and patterns. They are not passes."""
