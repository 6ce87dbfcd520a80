# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Source lines of the model for an instruction."""

import re

from torch.fx import Node

from executorch.exir.schema import Frame, FrameList

_FRAME = re.compile(r'^\s*File "(?P<file>[^"]*)", line (?P<line>\d+), in (?P<name>.*)$')


def frames(node: Node) -> FrameList:
    """Return the node's recorded stack, outermost frame first; empty if there is none."""
    found: list[Frame] = []
    for line in str(node.meta.get("stack_trace") or "").splitlines():
        match = _FRAME.match(line)
        if match:
            found.append(Frame(match["file"], int(match["line"]), match["name"], ""))
        elif found and line.strip() and not found[-1].context:
            found[-1].context = line.strip()
    return FrameList(found)
