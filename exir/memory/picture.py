# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the earlier import path of `executorch.exir.memory.plot`, kept for one release."""

from executorch.exir.memory.plot import plan_html, plan_svg, write_memory_plan

__all__ = ["plan_html", "plan_svg", "write_memory_plan"]
