# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Dialects of the compiler: operator namespaces, tables of legal operators and dtypes, one verifier."""
