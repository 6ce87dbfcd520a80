# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Source lines of the model for an instruction."""

import re

from torch.fx import Node

from executorch.exir.schema import Frame, FrameList

_FRAME = re.compile(r'^\s*File "(?P<file>[^"]*)", line (?P<line>\d+), in (?P<name>.*)$')


def frames(node: Node) -> FrameList:
    """Return the node's recorded stack, outermost frame first; empty if there is none."""
    stack: list[Frame] = []
    for line in str(node.meta.get("stack_trace") or "").splitlines():
        match = _FRAME.match(line)
        if match:
            stack.append(Frame(match["file"], int(match["line"]), match["name"], ""))
        elif stack and line.strip() and not stack[-1].context:
            stack[-1].context = line.strip()
    return FrameList(stack)
