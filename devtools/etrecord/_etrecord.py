# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: names that scripts import from this module of ExecuTorch 1.4."""

from executorch.devtools.etrecord.generate import generate_etrecord, parse_etrecord
from executorch.devtools.etrecord.record import ETRecord, ETRecordReservedFileNames

__all__ = ["ETRecord", "ETRecordReservedFileNames", "generate_etrecord", "parse_etrecord"]
