# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Exported programs as bytes: `program_bytes` has the format, `serialize` the documented functions."""
