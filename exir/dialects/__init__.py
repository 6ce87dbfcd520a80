# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""What each stage of the compiler allows: operator namespaces, tables of legal operators and dtypes, one verifier."""
