# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""TapSpec: description of a tap."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TapSpec:
    """One tapped node.

    node_name, op_target: of the node when it was tapped. output_index: index among the program's outputs.
    reducer_name, fields: contents of the output; `fields` is empty for the whole tensor.
    stack_trace, module_path, module_class: origin of the node; None if unknown.
    """

    node_name: str
    op_target: str
    output_index: int
    reducer_name: str
    fields: tuple[str, ...]
    stack_trace: str | None = None
    module_path: str | None = None
    module_class: str | None = None
