# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The earlier import path of the one-call exports (executorch.extension.export_util)."""

from executorch.extension.export_util.utils import export_to_edge, export_to_exec_prog, save_pte_program

__all__ = ["export_to_edge", "export_to_exec_prog", "save_pte_program"]
