# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A self-contained HTML page of a program's delegation.

It shows the cost share of each backend, the graph, the operators in its delegates, and the reasons for fallbacks.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from executorch.devtools.view.boxes import Box, describe_value, draw_graph
from executorch.devtools.view.style import COLOURS
from executorch.exir import memory
from executorch.exir.backend.partition.fallback import FALLBACK, NOT_DELEGATED
from executorch.exir.backend.partition.subgraph_constants import CONSTANT_KINDS, constants_in_subgraphs
from executorch.exir.delegate import executorch_call_delegate
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.error import module_path, operator_name, source_line
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.lowered_backend_module import LoweredBackendModule, get_lowered_backend_modules
from executorch.exir.report.cost import Cost, cost_of

__all__ = ["delegation_html", "write_delegation"]

_KERNELS = "kernels"
_COLOURS = {_KERNELS: "#f2c9c9", "input": "#e8e8e8", "control flow": "#fdf3c4", "size": "#f4f4f4"}
_STYLE = """
body{font:14px sans-serif;margin:24px} svg{height:auto} .scroll{overflow:auto;border:1px solid var(--rule)}
table{border-collapse:collapse;margin:8px 0} td,th{border:1px solid var(--rule);padding:3px 8px;text-align:left}
td.n{text-align:right} .bar{display:flex;height:26px;max-width:900px;border:1px solid var(--line);color:#222}
.bar div{overflow:hidden;white-space:nowrap;font-size:12px;line-height:26px;padding-left:4px} summary{cursor:pointer}
""".replace("\n", " ").strip()


@dataclass
class _Share:
    """The part of a program that runs on one backend, or on kernels."""

    delegates: int = 0
    operators: int = 0
    cost: Cost = field(default_factory=Cost)


def write_delegation(methods: Mapping[str, ExportedProgram], path: str | Path) -> None:
    """Write `delegation_html(methods)` to a file."""
    Path(path).write_text(delegation_html(methods), encoding="utf-8")


def delegation_html(methods: Mapping[str, ExportedProgram]) -> str:
    """Return the page for programs by method name, with the subgraphs of control flow. They need not be partitioned."""
    parts = ["<!doctype html>", '<html><head><meta charset="utf-8"><title>Delegation</title>']
    parts.append(f"<style>{COLOURS}{_STYLE}</style>")
    parts.append("</head><body><h1>What runs where</h1>")
    for name, program in methods.items():
        module, constants = program.graph_module, _constants(program)
        shares = _shares(module)
        colours = _COLOURS | {backend: _colour(n) for n, backend in enumerate(x for x in shares if x != _KERNELS)}
        parts += [f"<h2>{escape(name)}</h2>", _bar(shares, colours), _share_table(shares)]
        for place, graph_module in enumerate(all_graph_modules(module)):
            parts += _graph(graph_module, "graph" if place == 0 else f"control flow: graph {place}", colours, constants)
        parts.append(_fallback_table(module))
    return "\n".join([*parts, "</body></html>"])


def _constants(program: ExportedProgram) -> set[Node]:
    """Return the placeholders of parameters, buffers and constants, in all graphs."""
    weights = {spec.arg.name for spec in program.graph_signature.input_specs if spec.kind in CONSTANT_KINDS}
    outer = {node for node in program.graph.find_nodes(op="placeholder") if node.name in weights}
    return outer.union(constants_in_subgraphs(program))


def _graph(graph_module: GraphModule, title: str, colours: Mapping[str, str], constants: set[Node]) -> list[str]:
    parts = [f'<h3>{title}</h3><div class="scroll">', _drawing(graph_module, colours, constants), "</div>"]
    for number, module in enumerate(get_lowered_backend_modules(graph_module)):
        inner = module.original_module
        head = f"delegate {number}: {module.backend_id}, {len(_operators(inner.graph_module))} operators"
        own = {**colours, _KERNELS: colours[module.backend_id]}
        parts.append(f'<details><summary>{escape(head)}</summary><div class="scroll">')
        parts += [_drawing(inner.graph_module, own, _constants(inner)), "</div></details>"]
    return parts


def _drawing(graph_module: GraphModule, colours: Mapping[str, str], constants: set[Node]) -> str:
    return draw_graph(graph_module.graph, lambda node: None if node in constants else _box(graph_module, node, colours))


def _box(graph_module: GraphModule, node: Node, colours: Mapping[str, str]) -> Box | None:
    """Return the box of a node, or None: the drawing omits allocations and getitem."""
    value = describe_value(node)
    if node.op == "output":
        return Box("output", "", colours["input"], "what the graph returns")
    if node.op == "placeholder":
        return Box(node.name, value, colours["input"], f"input {node.name}") if node.users else None
    if node.op != "call_function" or node.target is operator.getitem or node.target is memory.alloc:
        return None
    where = [part for part in (value, module_path(node), source_line(node)) if part]
    module = _delegate(graph_module, node)
    if module is not None:
        inside = _operators(module.original_module.graph_module)
        lines = [f"{len(inside)} operators, {len(module.processed_bytes):,} bytes", *(_name(call) for call in inside)]
        return Box(module.backend_id, lines[0], colours[module.backend_id], "\n".join(lines[:40]))
    why = [f"{partitioner}: {reason}" for partitioner, reason in node.meta.get(FALLBACK, ())]
    kind = _KERNELS if _is_operator(node) else "control flow" if _runs_graphs(graph_module, node) else "size"
    return Box(_name(node), value, colours[kind], "\n".join([node.name, *where, *why]))


def _delegate(graph_module: GraphModule, node: Node) -> LoweredBackendModule | None:
    if node.target is not executorch_call_delegate:
        return None
    module = graph_module.get_submodule(str(node.args[0].target))  # type: ignore[union-attr]  # a call's first argument names it
    return module if isinstance(module, LoweredBackendModule) else None


def _runs_graphs(graph_module: GraphModule, node: Node) -> bool:
    named = [source for source in node.all_input_nodes if source.op == "get_attr"]
    return any(isinstance(getattr(graph_module, str(node.target), None), GraphModule) for node in named)


def _is_operator(node: Node) -> bool:
    return isinstance(node.target, (OpOverload, EdgeOpOverload)) and node.target.namespace not in NOT_DELEGATED


def _operators(module: GraphModule) -> list[Node]:
    return [
        node for graph_module in all_graph_modules(module) for node in graph_module.graph.nodes if _is_operator(node)
    ]


def _name(node: Node) -> str:
    return operator_name(node.target).replace("::", ".")


def _shares(module: GraphModule) -> dict[str, _Share]:
    """Return the shares by backend; the kernels' is last."""
    shares: dict[str, _Share] = {}
    for graph_module in all_graph_modules(module):
        for lowered in get_lowered_backend_modules(graph_module):
            share = shares.setdefault(lowered.backend_id, _Share())
            share.delegates += 1
            _add(share, _operators(lowered.original_module.graph_module))
    on_kernels = _Share()
    _add(on_kernels, _operators(module))
    return shares | {_KERNELS: on_kernels}


def _add(share: _Share, nodes: Iterable[Node]) -> None:
    for node in nodes:
        share.operators += 1
        share.cost += cost_of(node)


def _bar(shares: Mapping[str, _Share], colours: Mapping[str, str]) -> str:
    total = sum(share.cost.flops for share in shares.values())
    cells = [
        f'<div style="width:{share.cost.flops / total:.2%};background:{colours[name]}">'
        f"{escape(name)} {share.cost.flops / total:.1%}</div>"
        for name, share in shares.items()
        if total and share.cost.flops
    ]
    return f'<p>Share of the floating-point operations:</p><div class="bar">{"".join(cells)}</div>'


def _share_table(shares: Mapping[str, _Share]) -> str:
    rows = [
        (name, share.delegates or "", share.operators, f"{share.cost.flops:,}", f"{share.cost.bytes:,}")
        for name, share in shares.items()
    ]
    return _table(("runs on", "delegates", "operators", "FLOPs", "bytes moved"), rows)


def _fallback_table(module: GraphModule) -> str:
    left = [(node, cost_of(node)) for node in _operators(module) if FALLBACK in node.meta]
    if not left:
        return ""
    rows = [
        (
            _name(node),
            f"{cost.flops:,}",
            "; ".join(f"{partitioner}: {reason}" for partitioner, reason in node.meta[FALLBACK]),
            source_line(node) or module_path(node) or node.name,
        )
        for node, cost in sorted(left, key=lambda pair: -pair[1].flops)
    ]
    return "<h3>Left to the kernels</h3>" + _table(("operator", "FLOPs", "reason", "source"), rows)


def _table(headers: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    head = "".join(f"<th>{escape(header)}</th>" for header in headers)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _colour(number: int) -> str:
    return f"hsl({(210 + 137 * number) % 360}, 60%, 78%)"
