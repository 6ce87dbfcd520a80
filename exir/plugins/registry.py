# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Registered parts, which are looked up by group and name, so that their users need not import them.

`plugins.ini` in the root of the package registers the parts of this package. Another distribution registers its own as
entry points: group `executorch.backends`, for example. A part is imported when it is loaded.
"""

from __future__ import annotations

import configparser
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

__all__ = ["load_plugin", "plugin_names"]

_FILE = Path(__file__).parents[2] / "plugins.ini"


@cache
def _registered(group: str) -> dict[str, metadata.EntryPoint]:
    """Return name → entry point. Names of this package take precedence over those of other distributions."""
    own = configparser.ConfigParser(delimiters=("=",))
    own.optionxform = str  # type: ignore[assignment, method-assign]  # names keep their case
    own.read_string(_FILE.read_text(encoding="utf-8"))
    full = f"executorch.{group}"
    points = list(metadata.entry_points(group=full))
    points += [metadata.EntryPoint(name, value, full) for name, value in own[group].items()]
    return {point.name: point for point in points}


def plugin_names(group: str) -> list[str]:
    """Return the names registered in a group of `plugins.ini`. Raises KeyError for an unknown group."""
    return list(_registered(group))


def load_plugin(group: str, name: str) -> Any:
    """Import and return a part. Raises KeyError for an unknown group or name, ImportError if it cannot be imported."""
    return _registered(group)[name].load()
