# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Tools for programs: delegation, profiling, numeric comparison.

Names are imported on first use, so that tools without torch or pandas work where these are not installed.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from executorch.devtools import inspector
    from executorch.devtools.bundled_program.core import BundledProgram
    from executorch.devtools.comparison import compare
    from executorch.devtools.etrecord import ETRecord, generate_etrecord, parse_etrecord
    from executorch.devtools.inspector import Inspector

__all__ = ["BundledProgram", "ETRecord", "Inspector", "compare", "generate_etrecord", "inspector", "parse_etrecord"]

_HOME = {
    "BundledProgram": "bundled_program.core",
    "ETRecord": "etrecord",
    "Inspector": "inspector",
    "compare": "comparison",
    "generate_etrecord": "etrecord",
    "parse_etrecord": "etrecord",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    if name == "inspector":
        return importlib.import_module(f"{__name__}.inspector")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
