# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""ETRecord: information from export with which traces of the program are read."""

from executorch.devtools.etrecord.generate import generate_etrecord, parse_etrecord
from executorch.devtools.etrecord.record import ETRecord

__all__ = ["ETRecord", "generate_etrecord", "parse_etrecord"]
