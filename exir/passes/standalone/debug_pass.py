# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented pass that logs a graph; nothing inside the project imports it."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from torch.utils import _pytree as pytree

from executorch.exir.tensor import TensorSpec

_FRAME = re.compile(r'File "(?P<path>[^"]+)", line (?P<line>\d+), in (?P<where>[^\n]+)(?:\n\s*(?P<text>[^\n]+))?')
_logger = logging.getLogger(__name__)


@contextmanager
def _shown_debug_messages() -> Iterator[None]:
    """Let this module's debug messages pass; without any handler, send them to standard error."""
    level, handler = _logger.level, None if _logger.hasHandlers() else logging.StreamHandler()
    _logger.setLevel(logging.DEBUG)
    if handler is not None:
        _logger.addHandler(handler)
    try:
        yield
    finally:
        _logger.setLevel(level)
        if handler is not None:
            _logger.removeHandler(handler)


class DebugPass(PassBase):
    """Logs code and nodes of a graph at debug level, whatever level is configured, and changes nothing.

    Without any handler, the text goes to standard error.

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
        self.msg, self.enable_debug_pass = msg, enable_debug_pass
        self.show_src, self.show_full_path, self.show_all_frames = show_src, show_full_path, show_all_frames
        self.path_filter_re = re.compile(path_filter) if path_filter else None
        self.show_spec, self.log_filename = show_spec, log_filename

    def call(self, graph_module: GraphModule) -> PassResult:
        if self.enable_debug_pass:
            lines = [*([self.msg] if self.msg else []), f"Code is:\n{graph_module.code}", "Nodes:"]
            for index, node in enumerate(graph_module.graph.nodes):
                lines += [f"{index:4}: {node.format_node()}", *self._details(node)]
            if self.log_filename:
                Path(self.log_filename).write_text("\n".join(lines) + "\n")
            with _shown_debug_messages():
                for line in lines:
                    _logger.debug("%s", line)
        return PassResult(graph_module, False)

    def _details(self, node: Node) -> list[str]:
        lines = []
        if self.show_spec:
            specs = pytree.tree_leaves(node.meta.get("spec"))
            lines += [f"      {spec.debug()}" for spec in specs if isinstance(spec, TensorSpec)]
            lines.append(f"      val: {node.meta.get('val')}")
        if self.show_src:
            frames = [self._frame(match) for match in _FRAME.finditer(str(node.meta.get("stack_trace") or ""))]
            shown = [frame for frame in frames if frame is not None]
            lines += shown if self.show_all_frames else shown[-1:]
        return lines

    def _frame(self, match: re.Match[str]) -> str | None:
        path = match["path"] if self.show_full_path else os.path.basename(match["path"])
        if self.path_filter_re is not None and not self.path_filter_re.search(path):
            return None
        return f"      > {path}:{match['line']} in {match['where']}: {match['text'] or ''}"
