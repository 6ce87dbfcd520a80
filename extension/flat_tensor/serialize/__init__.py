# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Documented module path of the writer and reader of data files."""
