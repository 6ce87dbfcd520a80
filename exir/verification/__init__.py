# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The dialects' rules as verifiers that ExportedProgram runs."""
