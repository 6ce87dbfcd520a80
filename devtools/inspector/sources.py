# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Map an event to operators of the model: the one that takes its time first, then those fused into it."""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import fx

from executorch.devtools.inspector.attribution import handles_of
from executorch.devtools.inspector.event import Event
from executorch.exir.error import line_of_trace

KERNEL = "native_call_"
_MAX_NAMED = 6
_DEQUANTIZE = re.compile(r"quantized_decomposed\.dequantize")
# Operators that take little time when fused, in increasing order.
_MINOR = (
    re.compile(
        r"\.(view|permute|squeeze|unsqueeze|expand|clone|slice|select|t|transpose|_to_copy|_to_dim_order|constant_pad_nd)"
        r"(_copy)?\."
    ),
    re.compile(r"quantized_decomposed\.(de)?quantize|\.choose_qparams"),
    re.compile(r"\.(relu|hardtanh|clamp)\."),
)


@dataclass(frozen=True)
class Source:
    """An operator of the model.

    module: path of its module; "" for the model itself, None if unknown. line: `file:line, in function`; "" if unknown.
    """

    operator: str
    node: str
    module: str | None
    line: str


def source_of_node(node: fx.Node) -> Source:
    """A node as a source."""
    return _source(str(node.target), node.name, node.meta.get("nn_module_stack"), node.meta.get("stack_trace"))


def _common(paths: Sequence[str]) -> str:
    """Common prefix of module paths; "" is the model itself."""
    columns = zip(*(path.split(".") for path in paths), strict=False)
    return ".".join(column[0] for column in itertools.takewhile(lambda column: len(set(column)) == 1, columns))


def computes(node: fx.Node) -> bool:
    """Return whether a node that may be fused computes: it does more than move values or change their format."""
    return node.target is not operator.getitem and not any(pattern.search(str(node.target)) for pattern in _MINOR[:2])


def sources_of(event: Event) -> tuple[Source, ...]:
    """The operators of the model that an event runs: first the one that takes its time, then the others in the model's
    order. Empty without a record.
    """
    sources = [
        _source(target, node, event.module_hierarchy.get(node), event.stack_traces.get(node))
        for target, node in zip(event.op_types, event._nodes, strict=True)
    ]
    if not sources:
        return ()
    name = event.name.removeprefix(KERNEL).split(".")[0] if event.name.startswith(KERNEL) else ""
    lead = next((source for source in sources if name and source.operator.split(".")[-2:-1] == [name]), None)
    if lead is not None and len(handles_of(event)) == 1:
        return (lead,)  # the parts of a decomposed operator share its handle
    lead = lead or max(sources, key=lambda source: _weight(source.operator))
    # A quantize may share its handle with the dequantize that reads it, because the integers between them are fused.
    others = [source for source in sources if source is not lead and not _DEQUANTIZE.search(source.operator)]
    return (lead, *others)


def source_of_delegate(event: Event) -> tuple[Source, ...]:
    """One source for a delegate without timed operators: all its operators, in their common module."""
    sources = sources_of(event)
    if not sources:
        return ()
    paths = [source.module for source in sources if source.module is not None]
    shared = _common(paths) if paths else None
    names = list(dict.fromkeys(source.operator for source in sources))
    text = " + ".join(names[:_MAX_NAMED]) + (f" + {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else "")
    return (Source(text, sources[0].node, shared, sources[0].line),)


def _weight(name: str) -> int:
    return next((weight for weight, minor in enumerate(_MINOR) if minor.search(name)), len(_MINOR))


def _source(target: str, node: str, stack: Any, trace: str | None) -> Source:
    module = str(list(stack.values())[-1][0]).removeprefix("L['self'].") if stack else None
    return Source(target, node, module, line_of_trace(trace))
