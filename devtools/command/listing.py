# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Lists the commands: every `Command` that a file of this folder defines."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from executorch.devtools import command as folder
from executorch.devtools.command.arguments import Command


def commands() -> list[Command]:
    """Return the commands by name. A new file of this folder is enough to add its commands."""
    modules = [import_module(f"{folder.__name__}.{module.name}") for module in pkgutil.iter_modules(folder.__path__)]
    by_name = {value.name: value for module in modules for value in vars(module).values() if isinstance(value, Command)}
    return [by_name[name] for name in sorted(by_name)]
