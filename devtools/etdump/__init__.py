# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Execution traces (`.etdp`): the format, reading and writing; `ETDumpGen` (C++) records them."""
