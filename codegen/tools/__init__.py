# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented command lines of code generation; `python -m executorch.codegen` has the project's own."""
