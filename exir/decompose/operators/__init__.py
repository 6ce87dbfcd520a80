# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decompositions by family of operators, and the table of all of them (`extra_decompositions`)."""
