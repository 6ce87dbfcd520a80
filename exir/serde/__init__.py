# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Serialize exported programs: `program_bytes` implements the format, `serialize` has the documented functions."""
