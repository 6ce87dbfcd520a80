# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Lowered modules: their calls in the graph, their debug handles, and reading a delegated graph."""
