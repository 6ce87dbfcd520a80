# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Execution traces (`.etdp`): format, reader and writer. `ETDumpGen` (C++) records them."""
