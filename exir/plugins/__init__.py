# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Parts that exir looks up without importing them: registered plugins, and the installed runtime among them."""

from executorch.exir.plugins.registry import load_plugin, plugin_names

__all__ = ["load_plugin", "plugin_names"]
