# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented pass that logs a graph; nothing inside the project imports it."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path

from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from torch.utils import _pytree as pytree

from executorch.exir.tensor import TensorSpec

_FRAME = re.compile(r'File "(?P<path>[^"]+)", line (?P<line>\d+), in (?P<where>[^\n]+)(?:\n\s*(?P<text>[^\n]+))?')
_logger = logging.getLogger(__name__)


class DebugPass(PassBase):
    """Logs code and nodes of a graph at debug level, and changes nothing.

    msg: comes first. enable_debug_pass: False logs nothing. show_src: the source line that made each node.
    show_full_path: paths instead of file names. show_all_frames: all lines of the trace instead of the last.
    path_filter: a regular expression for the paths of frames to show. show_spec: TensorSpecs and values.
    log_filename: a file that gets the same text.
    """

    def __init__(
        self,
        msg: str = "",
        enable_debug_pass: bool = True,
        show_src: bool = False,
        show_full_path: bool = False,
        show_all_frames: bool = False,
        path_filter: str | None = None,
        show_spec: bool = False,
        log_filename: str | None = None,
    ) -> None:
        self._msg, self._enabled = msg, enable_debug_pass
        self._show_src, self._show_full_path, self._show_all_frames = show_src, show_full_path, show_all_frames
        self._path_filter = re.compile(path_filter) if path_filter else None
        self._show_spec, self._log_filename = show_spec, log_filename

    def call(self, graph_module: GraphModule) -> PassResult:
        if self._enabled:
            lines = [*([self._msg] if self._msg else []), f"Code is:\n{graph_module.code}", "Nodes:"]
            for index, node in enumerate(graph_module.graph.nodes):
                lines += [f"{index:4}: {node.format_node()}", *self._details(node)]
            if self._log_filename:
                Path(self._log_filename).write_text("\n".join(lines) + "\n")
            for line in lines:
                _logger.debug("%s", line)
        return PassResult(graph_module, False)

    def _details(self, node: Node) -> list[str]:
        lines = []
        if self._show_spec:
            specs = pytree.tree_leaves(node.meta.get("spec"))
            lines += [f"      {spec.debug()}" for spec in specs if isinstance(spec, TensorSpec)]
            lines.append(f"      val: {node.meta.get('val')}")
        if self._show_src:
            frames = [self._frame(match) for match in _FRAME.finditer(str(node.meta.get("stack_trace") or ""))]
            shown = [frame for frame in frames if frame is not None]
            lines += shown if self._show_all_frames else shown[-1:]
        return lines

    def _frame(self, match: re.Match[str]) -> str | None:
        path = match["path"] if self._show_full_path else os.path.basename(match["path"])
        if self._path_filter is not None and not self._path_filter.search(path):
            return None
        return f"      > {path}:{match['line']} in {match['where']}: {match['text'] or ''}"
